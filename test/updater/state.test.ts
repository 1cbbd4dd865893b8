import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BundleFloor } from '@signet/policy-engine/bundle';
import { parseDomainName } from '@signet/policy-engine/names';
import { nodeFileSystem } from '@signet/updater/files/file-system';
import { PolicyDirectory } from '@signet/updater/files/policy-directory';
import { readKeysFile } from '@signet/updater/keys-file';
import { readSelected } from '@signet/updater/selected-domains';
import { State } from '@signet/updater/state';
import { readStatus } from '@signet/updater/updater-status';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

/* State of the updater for each domain, and its reaction to foreign files. */

const domain = parseDomainName('catalog');
const bundle: Required<BundleFloor> = { epoch: 1, version: 5, issued: 1000, digest: 'policies-1:a' };
const bytes = Buffer.from('bundle');

function place(t: ExecutionContext, text?: string) {
  const folder = temporaryFolder(t);
  const file = join(folder, 'state.json');
  if (text !== undefined) writeFileSync(file, text);
  return { folder, file, directory: new PolicyDirectory(folder, nodeFileSystem, undefined) };
}

test('what is accepted is remembered over a restart, and a file is written only when something changed', async (t) => {
  const { file, directory } = place(t);
  const state = await State.load(directory);
  await state.save();
  t.false(existsSync(file));
  state.accept(domain, bundle, '"1"', bytes);
  await state.save();
  const restarted = await State.load(directory);
  t.is(restarted.problem, undefined);
  t.deepEqual(restarted.floor(domain, undefined), bundle);
  t.is(restarted.etag(domain, bytes), '"1"');
  t.is(restarted.etag(domain, Buffer.from('other')), undefined);
  t.is(restarted.etag(parseDomainName('media'), bytes), undefined);
  rmSync(file);
  await state.save();
  restarted.accept(domain, bundle, '"1"', bytes);
  restarted.accept(domain, { ...bundle, version: 4 }, undefined, bytes);
  await restarted.save();
  t.false(existsSync(file), 'nothing changed');
  restarted.accept(domain, bundle, '"2"', bytes);
  await restarted.save();
  t.true(readFileSync(file, 'utf8').includes('\\"2\\"'), 'another tag');
  rmSync(file);
  restarted.accept(domain, { ...bundle, version: 6 }, undefined, bytes);
  await restarted.save();
  t.is(JSON.parse(readFileSync(file, 'utf8')).floors.catalog.version, 6, 'another floor');
});

test('a floor is raised by the bundle on disk, unless that may not follow', async (t) => {
  const state = await State.load(place(t).directory);
  t.is(state.problem, undefined, 'a directory without a file is not a damaged one');
  t.is(state.floor(domain, undefined), undefined);
  t.deepEqual(state.floor(domain, bundle), bundle);
  state.accept(domain, bundle, undefined, bytes);
  t.deepEqual(state.floor(domain, { ...bundle, version: 6 }), { ...bundle, version: 6 });
  t.deepEqual(state.floor(domain, { ...bundle, version: 4 }), bundle);
  t.deepEqual(state.floor(domain, { ...bundle, issued: 2000, digest: 'policies-1:b' }), bundle);
  t.deepEqual(state.floor(domain, { ...bundle, version: 2 ** 40 }), bundle, 'a jump');
});

const states: [note: string, text: string, isRead: boolean][] = [
  ['floors alone', '{"floors":{"catalog":{"epoch":1,"version":5}}}', true],
  ['no JSON', '{"floors":', false],
  ['no floors', '{}', false],
  ['a version that is a string', '{"floors":{"catalog":{"epoch":1,"version":"5"}}}', false],
  ['a version below nought', '{"floors":{"catalog":{"epoch":1,"version":-5}}}', false],
  ['a time that is none', '{"floors":{"catalog":{"epoch":1,"version":5,"issued":"now"}}}', false],
];
for (const [note, text, isRead] of states) {
  test(`a state with ${note}`, async (t) => {
    const state = await State.load(place(t, text).directory);
    t.deepEqual(state.floor(domain, undefined), isRead ? { epoch: 1, version: 5 } : undefined);
    t.is(state.problem, isRead ? undefined : '`state.json` cannot be read and is rewritten');
  });
}

test('a state of many domains with long names is read as it was written', async (t) => {
  const { directory } = place(t);
  const state = await State.load(directory);
  const names = Array.from({ length: 14_000 }, (_, index) => parseDomainName(`d${index}`.padEnd(120, 'x')));
  const digest = `policies-1:${'a'.repeat(43)}`;
  for (const name of names)
    state.accept(name, { ...bundle, digest, content: 'c'.repeat(43) }, `"${'e'.repeat(43)}"`, bytes);
  await state.save();
  const restarted = await State.load(directory);
  t.is(restarted.problem, undefined);
  t.is(restarted.floor(names.at(-1) ?? domain, undefined)?.digest, digest);
});

for (const [name, read] of [
  ['state.json', async (directory: PolicyDirectory) => (await State.load(directory)).problem],
  ['keys.json', readKeysFile],
  ['status.json', readStatus],
  ['domains.json', async (directory: PolicyDirectory) => [...(await readSelected(directory))][0]],
] as const) {
  test(`a ${name} that is far too large stops nobody`, async (t) => {
    const { folder, directory } = place(t);
    writeFileSync(join(folder, name), ''.padEnd(17 << 20));
    const found = await read(directory);
    t.is<unknown, unknown>(found, name === 'state.json' ? '`state.json` cannot be read and is rewritten' : undefined);
  });
}

test('a key file that is none is as good as no file', async (t) => {
  const { folder, directory } = place(t);
  t.is(await readKeysFile(directory), undefined);
  const key = { kty: 'EC', kid: 'k', alg: 'ES256', use: 'sig' };
  for (const text of [
    '{',
    '{"keys":{}}',
    '{"issuer":7,"keys":[]}',
    '{"issuer":"","keys":[]}',
    JSON.stringify({ issuer: 'i', keys: [{ ...key, use: 'enc' }] }),
  ]) {
    writeFileSync(join(folder, 'keys.json'), text);
    t.is(await readKeysFile(directory), undefined, text);
  }
  writeFileSync(join(folder, 'keys.json'), JSON.stringify({ issuer: 'i', keys: [key] }));
  t.deepEqual<unknown, unknown>(await readKeysFile(directory), { issuer: 'i', keys: [key] });
  // of an Athenz server that does not say its issuer
  writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys: [key] }));
  t.deepEqual<unknown, unknown>(await readKeysFile(directory), { keys: [key] });
});

test('a floor of an earlier program, which has neither time nor digest, is written as it was read', async (t) => {
  const text = '{"floors":{"catalog":{"epoch":1,"version":5}}}';
  const { file, directory } = place(t, text);
  const state = await State.load(directory);
  state.forgetSaved();
  await state.save();
  t.deepEqual(JSON.parse(readFileSync(file, 'utf8')), { ...JSON.parse(text), tags: {} });
});
