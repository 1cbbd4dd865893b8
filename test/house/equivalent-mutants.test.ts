import { existsSync, readFileSync } from 'node:fs';
import test from 'ava';
import { repository } from '#support/dev-world';
import { equivalent } from '../mutants/equivalent.ts';

test('every mutation that counts as equivalent is of a line that is still there', (t) => {
  const stale = equivalent.filter(({ file, from }) => {
    const path = `${repository}/${file}`;
    const text = existsSync(path) ? readFileSync(path, 'utf8').replaceAll(/\s+/g, ' ') : '';
    return !text.includes(from.replaceAll(/\s+/g, ' '));
  });
  t.deepEqual(
    stale.map(({ file, from }) => `${file}: ${from}`),
    [],
  );
});
