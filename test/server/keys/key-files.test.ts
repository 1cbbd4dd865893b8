import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyFilesIn } from '@signet/server/keys/key-files';
import { newSigningKey } from '@signet/server/keys/new-signing-key';
import { keysInFiles } from '@signet/server/keys/private-keys';
import { createSigningKeys } from '@signet/server/keys/signing-keys';
import type { SigningKeyRecord } from '@signet/server/model/records';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { temporaryFolder } from '#support/temp';

const life = { token: 1000, bundle: 1000 };

test('a key file is whole, private and found again', async (t) => {
  const folder = join(temporaryFolder(t), 'keys');
  const files = keyFilesIn(folder);
  const { record, privateKey } = newSigningKey('token', 0, 0);
  t.is(files.read(record.kid), undefined);
  await files.write(record.kid, privateKey);
  t.deepEqual(readdirSync(folder), [`${record.kid}.pem`]);
  t.is(statSync(join(folder, `${record.kid}.pem`)).mode & 0o777, 0o600);
  t.is(statSync(folder).mode & 0o777, 0o700);
  t.true(files.read(record.kid)?.equals(privateKey));
});

test('a file that holds another key is an error, not a key', async (t) => {
  const folder = temporaryFolder(t);
  const files = keyFilesIn(folder);
  await files.write('other', newSigningKey('token', 0, 0).privateKey);
  t.throws(() => files.read('other'), { message: 'key file of `other` holds another key' });
  writeFileSync(join(folder, 'bad.pem'), 'nonsense');
  t.throws(() => files.read('bad'));
});

test('signing follows the records, the clock and the files', async (t) => {
  const folder = temporaryFolder(t);
  const files = keyFilesIn(folder);
  const clock = new FakeClock(0);
  const first = newSigningKey('token', 0, 0);
  const second = newSigningKey('token', 0, 10_000);
  await files.write(first.record.kid, first.privateKey);
  let records: readonly SigningKeyRecord[] = [first.record];
  const errors: string[] = [];
  const missing: (readonly string[])[] = [];
  const keys = createSigningKeys({
    records: () => records,
    privateKeys: keysInFiles(folder),
    clock,
    life,
    onError: (_, kid) => errors.push(kid),
    onMissing: (kids) => missing.push(kids),
  });
  t.is(keys.key('token').kid, first.record.kid);
  t.is(keys.current(), keys.current());
  t.throws(() => keys.key('bundle'), { name: 'NoSigningKeyError' });
  records = [first.record, second.record];
  t.deepEqual(
    keys.current().published.map(({ kid }) => kid),
    [first.record.kid, second.record.kid],
  );
  // The private key of the second one is not here: nothing is signed, not by the first either, until the file arrives.
  clock.advance(10_000);
  t.throws(() => keys.key('token'), { name: 'NoSigningKeyError' });
  t.deepEqual(keys.current().missing, [second.record.kid]);
  clock.advance(5000);
  t.throws(() => keys.key('token'), { name: 'NoSigningKeyError' });
  await files.write(second.record.kid, second.privateKey);
  clock.advance(5000);
  t.is(keys.key('token').kid, second.record.kid);
  records = [first.record, { ...second.record, compromisedAt: 15_000 }];
  t.is(keys.key('token').kid, first.record.kid);
  t.deepEqual(errors, []);
  t.deepEqual(missing, [[second.record.kid], []]);
});
