import { createDecipheriv, createHmac, generateKeyPairSync, hkdfSync, type KeyObject } from 'node:crypto';
import { newSigningKey } from '@signet/server/keys/new-signing-key';
import { createSealing } from '@signet/server/keys/sealing';
import test from 'ava';

const [oldKey, newKey, otherKey] = [1, 2, 3].map((value) => Buffer.alloc(32, value));
if (oldKey === undefined || newKey === undefined || otherKey === undefined) throw new Error('three keys');
const { record, privateKey } = newSigningKey('token', 0, 0);
const sealing = createSealing([newKey, oldKey]);
const sealed = sealing.seal(record, privateKey);
const opens = (text: string, name = record, by = sealing) => by.open(name, { sealingKey: sealed.sealingKey, text });
const damaged = {
  name: 'SealedKeyError',
  message: `the sealed private key of signing key \`${record.kid}\` was changed or truncated`,
};

test('what is sealed opens with the same sealing key, also in another process', (t) => {
  t.true(sealing.open(record, sealed).equals(privateKey));
  t.true(createSealing([newKey]).open(record, sealed).equals(privateKey));
  t.is(sealed.sealingKey, sealing.id);
  t.regex(sealed.text, /^v1\.[\w-]{16}\.[\w-]+\.[\w-]{22}$/);
});

test('another implementation of the derivation opens it, as documented', (t) => {
  const derived = (use: string, length: number) => {
    // RFC 5869 by its definition: extract with no salt, then one block of expand.
    const secret = createHmac('sha256', Buffer.alloc(32)).update(newKey).digest();
    const info = Buffer.concat([Buffer.from(`signet signing keys v1 ${use}`), Buffer.from([1])]);
    return createHmac('sha256', secret).update(info).digest().subarray(0, length);
  };
  t.is(derived('id', 8).toString('hex'), sealed.sealingKey);
  const [, nonce = '', body = '', tag = ''] = sealed.text.split('.');
  const aad = `["signet signing key v1","${sealed.sealingKey}","${record.kid}","token","ES256"]`;
  const open = createDecipheriv('aes-256-gcm', derived('aes-256-gcm', 32), Buffer.from(nonce, 'base64url'));
  open.setAAD(Buffer.from(aad)).setAuthTag(Buffer.from(tag, 'base64url'));
  const plain = Buffer.concat([open.update(Buffer.from(body, 'base64url')), open.final()]);
  t.deepEqual(plain, privateKey.export({ format: 'der', type: 'pkcs8' }));
});

test('no nonce comes twice, and nothing of the key shows', (t) => {
  const texts = Array.from({ length: 200 }, () => sealing.seal(record, privateKey).text);
  t.is(new Set(texts.map((text) => text.split('.')[1])).size, 200);
  const scalar = Buffer.from(privateKey.export({ format: 'jwk' }).d ?? '', 'base64url');
  const shown = Buffer.concat(sealed.text.split('.').map((part) => Buffer.from(part, 'base64url')));
  t.is(shown.indexOf(scalar), -1);
  t.is(shown.indexOf(newKey), -1);
});

test('each changed bit of nonce, ciphertext and tag is noticed', (t) => {
  const parts = sealed.text.split('.');
  for (const at of [1, 2, 3]) {
    const bytes = Buffer.from(parts[at] ?? '', 'base64url');
    t.true(bytes.length >= 12);
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const other = Buffer.from(bytes);
      other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const text = parts.with(at, other.toString('base64url')).join('.');
      t.throws(() => opens(text), damaged, `part ${at}, bit ${bit}`);
    }
  }
});

test('each character stands for itself: another spelling of the same bytes is refused', (t) => {
  for (let at = 0; at < sealed.text.length; at += 1) {
    const other = sealed.text[at] === 'B' ? 'C' : 'B';
    t.throws(() => opens(sealed.text.slice(0, at) + other + sealed.text.slice(at + 1)), { name: 'SealedKeyError' });
    t.throws(() => opens(sealed.text.slice(0, at)), damaged);
  }
  const last = sealed.text.at(-1) ?? '';
  // A tag ends in a character of which two bits count.
  const same = String.fromCharCode(last.charCodeAt(0) + 1);
  t.deepEqual(Buffer.from(`AAA${last}`, 'base64url').length, 3);
  for (const text of [
    `${sealed.text.slice(0, -1)}${same}`,
    `${sealed.text}=`,
    `${sealed.text} `,
    ` ${sealed.text}`,
    '',
  ]) {
    t.throws(() => opens(text), damaged, text);
  }
});

test('a text is at most so long', (t) => {
  const [, nonce = '', , tag = ''] = sealed.text.split('.');
  for (const length of [1000, 1001]) t.throws(() => opens(`v1.${nonce}.${'A'.repeat(length)}.${tag}`), damaged);
});

test('what is sealed for one row opens in no other', (t) => {
  const other = newSigningKey('token', 0, 0).record;
  for (const name of [
    other,
    { ...record, purpose: 'bundle' as const },
    { ...record, algorithm: 'ES384' as 'ES256' },
    { ...record, kid: `${record.kid}","token` },
  ]) {
    t.throws(() => opens(sealed.text, name), { name: 'SealedKeyError', message: /was changed or truncated$/ });
  }
});

test('a sealing key of another id is named; one that passes for it is noticed', (t) => {
  const other = createSealing([otherKey]);
  t.throws(() => other.open(record, sealed), {
    name: 'SealedKeyError',
    message: `signing key \`${record.kid}\` is sealed with the sealing key \`${sealing.id}\`, which is not configured here`,
  });
  t.throws(() => other.open(record, { ...sealed, sealingKey: other.id }), damaged);
  t.throws(() => sealing.open(record, { ...sealed, sealingKey: createSealing([oldKey]).id }), damaged);
});

test('the present key seals, earlier ones open', (t) => {
  const earlier = createSealing([oldKey]);
  t.true(sealing.open(record, earlier.seal(record, privateKey)).equals(privateKey));
  t.deepEqual([sealing.knows(sealing.id), sealing.knows(earlier.id), earlier.knows(sealing.id)], [true, true, false]);
  t.is(createSealing([newKey]).id, sealing.id);
  t.not(earlier.id, sealing.id);
});

/** Key sealed by another holder of the sealing key. */
function sealedAnew(content: Buffer): string {
  const fake = { export: () => Buffer.from(content) } as unknown as KeyObject;
  return sealing.seal(record, fake).text;
}

test('another key than the one that the row names is refused, and so is what is no key', (t) => {
  const refused = {
    name: 'SealedKeyError',
    message: `the sealed data of signing key \`${record.kid}\` is another key`,
  };
  const other = newSigningKey('token', 0, 0).privateKey.export({ format: 'der', type: 'pkcs8' });
  const ed = generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' });
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export({ format: 'der', type: 'pkcs8' });
  for (const content of [other, ed, p384, Buffer.from('no key'), Buffer.alloc(1)]) {
    t.throws(() => opens(sealedAnew(content)), refused);
  }
  t.true(opens(sealedAnew(privateKey.export({ format: 'der', type: 'pkcs8' }))).equals(privateKey));
});

test('what was exported is wiped after it was sealed', (t) => {
  const content = Buffer.from(privateKey.export({ format: 'der', type: 'pkcs8' }));
  sealing.seal(record, { export: () => content } as unknown as KeyObject);
  t.true(content.every((byte) => byte === 0));
});

test('the derivation is that of RFC 5869 as Node has it', (t) => {
  t.is(
    Buffer.from(hkdfSync('sha256', oldKey, '', 'signet signing keys v1 id', 8)).toString('hex'),
    createSealing([oldKey]).id,
  );
});
