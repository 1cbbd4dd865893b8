import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { install, serve } from '#support/signet-program';

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

/** Writes, when a process ends, whether the objects that it asked for are alive after a collection. */
const recorder = `
import hooks from 'node:async_hooks';
import { appendFileSync } from 'node:fs';
import v8 from 'node:v8';
import vm from 'node:vm';
const resource = hooks.executionAsyncResource;
const given = [];
hooks.executionAsyncResource = () => {
  const object = resource();
  given.push(new WeakRef(object));
  return object;
};
process.on('exit', () => {
  v8.setFlagsFromString('--expose-gc');
  vm.runInNewContext('gc')();
  const alive = given.map((each) => Object.keys(each.deref() ?? {}).join());
  appendFileSync(process.env.SIGNET_TEST_TICKS, JSON.stringify(alive) + '\\n');
});`;

test('each process of a server keeps what process.nextTick made until it ends', async (t) => {
  const installation = await install(t, { domains: [{ name: 'media' }] });
  const list = join(installation.folder, 'ticks');
  const env = {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(recorder)}`,
    SIGNET_TEST_TICKS: list,
  };
  const server = await serve(t, installation, { args: ['--workers', '2'], env });
  t.is(await server.end(), 0);
  const kept = JSON.stringify(['callback,args']);
  t.deepEqual(readFileSync(list, 'utf8').trim().split('\n'), [kept, kept, kept]);
});
