import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { install, serve } from '#support/signet-program';

/** Writes, when the program ends, which of Node's modules were there when it first set a flag of V8, and which came later. */
const recorder = `
import { writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import v8 from 'node:v8';
const set = v8.setFlagsFromString;
const loaded = () => process.moduleLoadList.filter((name) => name.startsWith('NativeModule '));
let before;
v8.setFlagsFromString = (flag) => {
  before ??= loaded();
  set(flag);
};
syncBuiltinESMExports();
process.on('exit', () => {
  const later = loaded().filter((name) => !before.includes(name));
  writeFileSync(process.env.SIGNET_TEST_LOADED, JSON.stringify({ before: before.length, later }));
});`;

test('what a server needs of Node is loaded before a flag of V8 is set', async (t) => {
  const installation = await install(t, { domains: [{ name: 'media' }] });
  const list = join(installation.folder, 'loaded');
  const env = {
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(recorder)}`,
    SIGNET_TEST_LOADED: list,
  };
  const server = await serve(t, installation, { env });
  t.is(await server.end(), 0);
  const { before, later } = JSON.parse(readFileSync(list, 'utf8'));
  t.true(before > 100);
  t.deepEqual(later, []);
});
