import { generateKeyPairSync } from 'node:crypto';
import { signBundle, withDerSignature } from '@signet/policy-engine/bundle';
import type { JwsPolicyData, SignedPolicyData } from '@signet/policy-engine/wire';
import test from 'ava';

/* The two forms of a signature. */

const half = (...last: number[]) => Buffer.concat([Buffer.alloc(32 - last.length), Buffer.from(last)]);
const full = (first: number) => Buffer.concat([Buffer.of(first), Buffer.alloc(31, 1)]);
const der = (...integers: Buffer[]) => {
  const parts = integers.map((each) => Buffer.concat([Buffer.of(2, each.length), each]));
  return Buffer.concat([
    Buffer.of(
      0x30,
      parts.reduce((sum, { length }) => sum + length, 0),
    ),
    ...parts,
  ]);
};
const signed = (...halves: Buffer[]) =>
  ({
    payload: 'p',
    protected: 'h',
    header: { kid: 'k' },
    signature: Buffer.concat(halves).toString('base64url'),
  }) as JwsPolicyData;

const cases: [note: string, r: Buffer, s: Buffer, form: Buffer][] = [
  ['small numbers', half(1), half(0x7f), der(Buffer.of(1), Buffer.of(0x7f))],
  ['a number that would be negative', half(0x80), half(0xff, 0), der(Buffer.of(0, 0x80), Buffer.of(0, 0xff, 0))],
  ['whole numbers', full(0x7f), full(0x80), der(full(0x7f), Buffer.concat([Buffer.of(0), full(0x80)]))],
  ['nought', half(), half(1, 0), der(Buffer.of(0), Buffer.of(1, 0))],
];
for (const [note, r, s, form] of cases) {
  test(`a signature in DER: ${note}`, (t) => {
    const bundle = signed(r, s);
    t.deepEqual(withDerSignature(bundle), { ...bundle, signature: form.toString('base64url') });
  });
}

test('what is not r and s is put into no other form', (t) => {
  const message = 'the signature must be r and s of P-256, 32 bytes each';
  for (const halves of [[half(1)], [half(1), half(1), Buffer.of(1)], [half(1), Buffer.alloc(31, 1)]]) {
    t.throws(() => withDerSignature(signed(...halves)), { code: 'invalid-options', message } as never);
  }
  t.throws(() => withDerSignature({ ...signed(), signature: '!' }), { message });
});

test('keys of Node and of the platform sign, those on other curves do not', async (t) => {
  const data = { policyData: { domain: 'd' } } as unknown as SignedPolicyData;
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const platform = privateKey.toCryptoKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
  for (const key of [privateKey, platform]) {
    const plain = await signBundle(data, { kid: 'k', privateKey: key });
    t.is(Buffer.from(plain.signature, 'base64url').length, 64);
    const old = await signBundle(data, { kid: 'k', privateKey: key }, 'der');
    t.is(Buffer.from(old.signature, 'base64url')[0], 0x30);
  }
  const other = generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey;
  await t.throwsAsync(signBundle(data, { kid: 'k', privateKey: other }), { code: 'invalid-options' } as never);
});
