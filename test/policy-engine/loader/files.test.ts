import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BundleFloor, KeySource } from '@signet/policy-engine/bundle';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';
import { internals } from '../../limits/row.ts';

/* Files beside the bundles: malformed files of floors or keys, and what stays in force then. */

type Read = { kind: string; problem?: string; identity?: string; bytes?: Uint8Array };
const { readProtectedFile, readRegularFile } = await internals<{
  readProtectedFile(path: string, maxBytes: number, known: string | undefined): Promise<Read>;
  readRegularFile(path: string, maxBytes: number, known: string | undefined): Promise<Read>;
}>('policy-engine/src/loader/read-file.ts');
const { decodeFloors, encodeFloors } = await internals<{
  decodeFloors(bytes: Uint8Array): ReadonlyMap<string, BundleFloor> | undefined;
  encodeFloors(floors: Iterable<readonly [string, BundleFloor]>): object;
}>('policy-engine/src/loader/decode-floors.ts');
const { Floors } = await internals<{
  Floors: new (
    policyDir: string,
  ) => {
    refresh(): Promise<void>;
    of(domain: string): BundleFloor | undefined;
    accept(domain: string, floor: BundleFloor): void;
  };
}>('policy-engine/src/loader/floors.ts');
const { DirectoryKeys } = await internals<{
  DirectoryKeys: new (
    policyDir: string,
  ) => Required<KeySource> & { readonly issuer: string | undefined; refresh(): Promise<void> };
}>('policy-engine/src/loader/directory-keys.ts');

const [before, after] = [(await createTestAuthority()).keys.keys, (await createTestAuthority()).keys.keys];

function written(t: ExecutionContext, content: string, mode = 0o644): string {
  const path = join(temporaryFolder(t), 'file');
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

test('a file is read whole, up to its bound, and not again while it is the same', async (t) => {
  const path = written(t, 'abc');
  const first = await readRegularFile(path, 3, undefined);
  t.is(first.kind, 'read');
  t.is(Buffer.from(first.bytes ?? []).toString(), 'abc');
  t.deepEqual(await readRegularFile(path, 3, first.identity), { kind: 'unchanged' });
  t.deepEqual(await readRegularFile(path, 2, undefined), { kind: 'unreadable', problem: 'it is larger than 2 bytes' });
  t.is((await readRegularFile(written(t, ''), 0, undefined)).kind, 'read');
});

test('what is not there, and what is not a regular file', async (t) => {
  const folder = temporaryFolder(t);
  t.deepEqual(await readRegularFile(join(folder, 'none'), 9, undefined), { kind: 'absent' });
  const odd = { kind: 'unreadable', problem: 'it is not a regular file' };
  t.deepEqual(await readRegularFile(folder, 9, undefined), odd);
  const pipe = join(folder, 'pipe');
  if (spawnSync('mkfifo', [pipe]).status === 0) t.deepEqual(await readRegularFile(pipe, 9, undefined), odd);
  const loop = join(folder, 'loop');
  symlinkSync(loop, loop);
  t.deepEqual(await readRegularFile(loop, 9, undefined), { kind: 'unreadable', problem: 'it cannot be read (ELOOP)' });
});

const writers: [mode: number, problem: string | undefined][] = [
  [0o644, undefined],
  [0o664, 'its group may write to it'],
  [0o646, 'everyone may write to it'],
  [0o666, 'everyone may write to it'],
];
for (const [mode, problem] of process.platform === 'win32' ? [] : writers) {
  test(`a file of mode ${mode.toString(8)} that is not signed`, async (t) => {
    const path = written(t, 'abc', mode);
    t.is((await readProtectedFile(path, 9, undefined)).problem, problem);
    t.is((await readRegularFile(path, 9, undefined)).kind, 'read', 'a signed one may be anybody’s');
  });
}

const floors: [note: string, text: string, expected: Record<string, BundleFloor> | undefined][] = [
  [
    'of this program',
    '{"floors":{"d":{"epoch":1,"version":2,"issued":"1970-01-01T00:00:01Z","digest":"x"}}}',
    { d: { epoch: 1, version: 2, issued: 1000, digest: 'x' } },
  ],
  ['of an earlier program', '{"floors":{"d":{"epoch":0,"version":0}},"tags":{}}', { d: { epoch: 0, version: 0 } }],
  ['of nothing', '{"floors":{}}', {}],
  ['that are not JSON', '{', undefined],
  ['that are missing', '{}', undefined],
  ['in a list', '[]', undefined],
  ['in null', 'null', undefined],
  ['in a string', '"x"', undefined],
  ['that are a list', '{"floors":[]}', undefined],
  ['that are null', '{"floors":null}', undefined],
  ['with one that is null', '{"floors":{"d":null}}', undefined],
  ['with one that is a list', '{"floors":{"d":[]}}', undefined],
  ['without an epoch', '{"floors":{"d":{"version":2}}}', undefined],
  ['without a version', '{"floors":{"d":{"epoch":1}}}', undefined],
  ['with an epoch below nought', '{"floors":{"d":{"epoch":-1,"version":2}}}', undefined],
  ['with a version of a fraction', '{"floors":{"d":{"epoch":1,"version":0.5}}}', undefined],
  ['with a version that is a string', '{"floors":{"d":{"epoch":1,"version":"2"}}}', undefined],
  ['with a time that is none', '{"floors":{"d":{"epoch":1,"version":2,"issued":"now"}}}', undefined],
  ['with a time that is a number', '{"floors":{"d":{"epoch":1,"version":2,"issued":1}}}', undefined],
  ['with a digest that is a number', '{"floors":{"d":{"epoch":1,"version":2,"digest":1}}}', undefined],
  ['whose time is a list', '{"floors":{"a":{"epoch":1,"version":2,"issued":["2026-01-01T00:00:00.000Z"]}}}', undefined],
];
for (const [note, text, expected] of floors) {
  test(`floors ${note}`, (t) => {
    const found = decodeFloors(Buffer.from(text));
    t.deepEqual<unknown, unknown>(found && Object.fromEntries(found), expected);
  });
}

test('floors are written as they are read', (t) => {
  const all: [string, BundleFloor][] = [
    ['a', { epoch: 1, version: 2, issued: 1000, digest: 'x' }],
    ['b', { epoch: 1, version: 2 }],
  ];
  const text = JSON.stringify({ floors: encodeFloors(all) });
  t.deepEqual([...(decodeFloors(Buffer.from(text)) ?? [])], all);
});

test('floors of a directory never fall, whatever its file says', async (t) => {
  const folder = temporaryFolder(t);
  const own = new Floors(folder);
  const write = (version: number) =>
    writeFileSync(join(folder, 'state.json'), JSON.stringify({ floors: { d: { epoch: 1, version } } }));
  await own.refresh();
  t.is(own.of('d'), undefined);
  write(12);
  await own.refresh();
  t.is(own.of('d')?.version, 12);
  write(3);
  await own.refresh();
  t.is(own.of('d')?.version, 12);
  writeFileSync(join(folder, 'state.json'), '{');
  await own.refresh();
  t.is(own.of('d')?.version, 12);
  own.accept('d', { epoch: 1, version: 14 });
  t.is(own.of('d')?.version, 14);
});

test('keys of a directory: a good file is taken, a bad one leaves the keys and the issuer that were there', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'keys.json');
  const keys = new DirectoryKeys(folder);
  const kid = before[0]?.kid ?? '';
  const look = async (text: string) => {
    writeFileSync(path, text);
    await keys.refresh();
    return keys.error?.message;
  };
  t.is(await keys.find(kid, 'token'), undefined);
  await keys.refresh();
  t.is(
    keys.error?.message,
    `keys.json cannot be used: it does not exist in \`${folder}\`: run \`signet-updater once\`, which writes it, or give \`keys\``,
  );
  t.is(await look(JSON.stringify({ keys: before })), undefined);
  t.is(keys.issuer, undefined);
  t.is(await look(JSON.stringify({ issuer: 'https://i', keys: before })), undefined);
  t.deepEqual([keys.issuer, keys.revision], ['https://i', 2]);
  await keys.refresh();
  t.is(keys.revision, 2, 'the same file');
  for (const [text, problem] of [
    ['{"keys":[]', /cannot be used: /],
    ['{"issuer":"","keys":[]}', /`issuer` must be a string$/],
    ['{"issuer":7,"keys":[]}', /`issuer` must be a string$/],
    ['null', /`keys` must be an array$/],
    ['\ufeff{"keys":[]}', /cannot be used: /],
  ] as const) {
    t.regex((await look(text)) ?? '', problem, text);
    t.deepEqual([keys.issuer, keys.revision], ['https://i', 2]);
    t.not(await keys.find(kid, 'token'), undefined);
  }
  writeFileSync(path, Buffer.of(0xff));
  await keys.refresh();
  t.is(keys.error?.message, 'keys.json cannot be used: it is not UTF-8');
  t.is(await look(JSON.stringify({ issuer: 'https://j', keys: after })), undefined);
  t.deepEqual([keys.issuer, keys.revision], ['https://j', 3]);
  t.is(await keys.find(kid, 'token'), undefined);
  mkdirSync(join(folder, 'empty'));
  const none = new DirectoryKeys(join(folder, 'empty'));
  await none.refresh();
  t.is(none.issuer, undefined);
});
