import { execFileSync } from 'node:child_process';
import test from 'ava';

const source = new URL('../../../server/src/cli/tick-shape.ts', import.meta.url).href;

/** Makes objects of `process.nextTick`, has V8 collect all that are not alive, makes others, and writes what V8 knows of the five fields of each. */
const program = (start: string) => `
${start}
const make = (count) => { for (let made = 0; made < count; made += 1) process.nextTick(() => {}); };
make(20);
setTimeout(() => {
  for (let round = 0; round < 6; round += 1) gc();
  setTimeout(() => {
    make(3);
    const fields = %GetFeedback(process.nextTick).filter((slot) => slot?.[0] === 'DefineKeyedOwnPropertyInLiteral');
    console.log(JSON.stringify(fields.map(([, state]) => state)));
  });
});`;

function knownFields(start: string): unknown {
  const flags = ['--fuzzing', '--allow-natives-syntax', '--expose-gc', '--input-type=module'];
  return JSON.parse(execFileSync(process.execPath, [...flags, '--eval', program(start)], { encoding: 'utf8' }));
}

test('V8 knows what process.nextTick makes, also after a collection while nothing waited', (t) => {
  t.deepEqual(
    knownFields(`(await import(${JSON.stringify(source)})).keepTickShape();`),
    Array.from({ length: 5 }, () => 'MONOMORPHIC'),
  );
});

test('V8 forgets it where nothing keeps it: once it does not, tick-shape.ts can go', (t) => {
  t.deepEqual(knownFields(''), ['MONOMORPHIC', ...Array.from({ length: 4 }, () => 'MEGAMORPHIC')]);
});
