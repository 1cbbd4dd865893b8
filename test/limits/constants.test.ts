import test from 'ava';
import { limitConstants } from './constants.ts';
import { rows } from './rows/index.ts';

/* Every constant that bounds something, exactly kept and exceeded by one (what has no row: `test/house/limits.test.ts`). */

const values = new Map(limitConstants().map(({ file, name, value }) => [`${file} ${name}`, value]));

async function accepts(work: () => unknown): Promise<boolean> {
  try {
    return (await work()) !== false;
  } catch {
    return false;
  }
}

for (const row of rows) {
  const name = `${row.file} ${row.constant}`;
  const bound = values.get(name);
  if (bound === undefined || row.kind === 'elsewhere' || row.kind === 'inner') continue;
  // one after the other: one of them stops the timers, and large inputs take the time of others
  test.serial(`${name} = ${bound}`, async (t) => {
    if (row.kind === 'same') {
      t.true(await accepts(() => row.holds(bound, t)), 'at the bound');
      t.true(await accepts(() => row.holds(bound + 1, t)), 'past the bound');
      return;
    }
    t.true(await accepts(() => row.isAccepted(bound, t)), `${bound} is not accepted`);
    const beyond = row.kind === 'maximum' ? bound + 1 : bound - 1;
    t.false(await accepts(() => row.isAccepted(beyond, t)), `${beyond} is accepted`);
  });
}
