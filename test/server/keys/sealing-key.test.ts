import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '@signet/server/config/config-error';
import { sealingOf } from '@signet/server/config/private-keys';
import { isOpenToOthers } from '@signet/server/keys/own-file';
import { readSealingKey } from '@signet/server/keys/sealing-key';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

const key = Buffer.from(Array.from({ length: 32 }, (_, at) => 255 - at));
const text = key.toString('base64');

const good: readonly (readonly [note: string, content: string | Buffer])[] = [
  ['32 bytes as they are', key],
  ['base64', text],
  ['base64 with a line end, as openssl writes it', `${text}\n`],
  ['base64 with a line end of Windows', `${text}\r\n`],
];

for (const [note, content] of good) {
  test(`a sealing key: ${note}`, (t) => {
    const file = join(temporaryFolder(t), 'sealing.key');
    writeFileSync(file, content, { mode: 0o600 });
    t.deepEqual(readSealingKey(file), key);
    symlinkSync(file, `${file}.link`);
    t.deepEqual(readSealingKey(`${file}.link`), key, 'by a link, as secrets are mounted');
  });
}

const bad: readonly (readonly [note: string, content: string | Buffer])[] = [
  ['nothing', ''],
  ['31 bytes', key.subarray(1)],
  ['33 bytes', Buffer.concat([key, Buffer.alloc(1)])],
  ['base64 of 31 bytes', key.subarray(1).toString('base64')],
  ['base64 of 33 bytes', Buffer.concat([key, Buffer.alloc(1)]).toString('base64')],
  ['hex', `${key.toString('hex')}\n`],
  ['base64url', text.replaceAll('/', '_')],
  ['base64 without its end', text.slice(0, -1)],
  ['base64 with bits left over', `${text.slice(0, -2)}B=`],
  ['two keys', `${text}\n${text}\n`],
  ['a blank before it', ` ${text}`],
  ['a blank after it', `${text} `],
];

for (const [note, content] of bad) {
  test(`not a sealing key: ${note}`, (t) => {
    const file = join(temporaryFolder(t), 'sealing.key');
    writeFileSync(file, content, { mode: 0o600 });
    const message = `\`${file}\` must contain 32 random bytes, raw or in base64`;
    t.throws(() => readSealingKey(file), { message });
  });
}

test('a sealing key that others may read, and what is no file', (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'sealing.key');
  t.throws(() => readSealingKey(file), { message: `\`${file}\` cannot be read (ENOENT)` });
  writeFileSync(file, key);
  for (const mode of [0o640, 0o604, 0o620, 0o601]) {
    chmodSync(file, mode);
    t.throws(() => readSealingKey(file), { message: `\`${file}\` can be read by others: its mode must be 0600` });
  }
  for (const mode of [0o600, 0o400]) {
    chmodSync(file, mode);
    t.deepEqual(readSealingKey(file), key);
  }
  mkdirSync(join(folder, 'folder'));
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  for (const name of ['folder', 'pipe'])
    t.throws(() => readSealingKey(join(folder, name)), { message: /is not a regular file$/ });
});

test('of a file of root, which others than root are handed, its group may read; of any other file nobody else', (t) => {
  const open = (uid: number, mode: number, self: number) => isOpenToOthers({ uid, mode: 0o100000 | mode }, self);
  for (const mode of [0o400, 0o440, 0o600, 0o640]) t.false(open(0, mode, 1000), mode.toString(8));
  for (const mode of [0o444, 0o460, 0o450, 0o404, 0o441, 0o660]) t.true(open(0, mode, 1000), mode.toString(8));
  for (const [uid, self] of [
    [0, 0],
    [1000, 1000],
  ] as const) {
    for (const mode of [0o400, 0o600]) t.false(open(uid, mode, self), mode.toString(8));
    for (const mode of [0o440, 0o640, 0o604, 0o620]) t.true(open(uid, mode, self), mode.toString(8));
  }
});

test('the configuration names the option whose file does not fit', (t) => {
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  const keys = { maxAgeSeconds: 1, prepublishSeconds: 1, storage: 'store' as const };
  const file = at('signet.yaml');
  t.is(sealingOf({ file, keys: { ...keys, previousSealingKeyFiles: [] } }), undefined);
  const configured = {
    ...keys,
    sealingKeyFile: at('new.key'),
    previousSealingKeyFiles: [at('older.key'), at('old.key')],
  };
  const problem = () => {
    const error = t.throws(() => sealingOf({ file, keys: configured }), { instanceOf: ConfigError });
    return error?.problems;
  };
  writeFileSync(at('new.key'), 'short', { mode: 0o600 });
  writeFileSync(at('older.key'), key, { mode: 0o600 });
  writeFileSync(at('old.key'), Buffer.alloc(32, 1), { mode: 0o644 });
  t.deepEqual(problem(), [
    `keys.previousSealingKeyFiles.1: \`${at('old.key')}\` can be read by others: its mode must be 0600`,
  ]);
  chmodSync(at('old.key'), 0o600);
  t.deepEqual(problem(), [`keys.sealingKeyFile: \`${at('new.key')}\` must contain 32 random bytes, raw or in base64`]);
  writeFileSync(at('new.key'), Buffer.alloc(32, 2));
  t.is(sealingOf({ file, keys: configured })?.id.length, 16);
});
