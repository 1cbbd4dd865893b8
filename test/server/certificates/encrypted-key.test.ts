import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { decryptPrivateKey, encryptPrivateKey, isEncryptedKey } from '@signet/server/x509/encrypted-key';
import test from 'ava';
import { openssl } from '#support/openssl';
import { temporaryFolder } from '#support/temp';

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const plain = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
const passphrase = 'Größe: correct horse battery staple';
const encrypted = encryptPrivateKey(privateKey, passphrase);

test('an encrypted key opens with its passphrase and no other', (t) => {
  t.is(decryptPrivateKey(encrypted, passphrase), plain);
  t.throws(() => decryptPrivateKey(encrypted, `${passphrase} `));
  t.throws(() => createPrivateKey(encrypted));
  t.not(encryptPrivateKey(privateKey, passphrase), encrypted, 'salt and vector are new each time');
});

test('it is told apart from keys that need no passphrase', (t) => {
  const before = privateKey.export({ format: 'pem', type: 'sec1', cipher: 'aes-256-cbc', passphrase }).toString();
  t.deepEqual([encrypted, before, plain].map(isEncryptedKey), [true, true, false]);
  t.is(decryptPrivateKey(before, passphrase), plain);
});

test('openssl reads it, and names PBES2 with 600,000 rounds of HMAC-SHA-256 and AES-256', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(`${folder}/key.pem`, encrypted, { mode: 0o600 });
  writeFileSync(`${folder}/passphrase`, `${passphrase}\n`, { mode: 0o600 });
  const opened = await openssl(folder, 'pkey', '-in', 'key.pem', '-passin', 'file:passphrase');
  t.deepEqual(opened, { ok: true, output: plain });
  const { output } = await openssl(folder, 'asn1parse', '-in', 'key.pem');
  for (const part of ['PBES2', 'PBKDF2', 'INTEGER           :0927C0', 'hmacWithSHA256', 'aes-256-cbc']) {
    t.true(output.includes(part), `${part}: ${output}`);
  }
});
