import { generateKeyPairSync, verify } from 'node:crypto';
import { bundleText, signBundle, signBundleInParts, withDerSignature } from '@signet/policy-engine/bundle';
import type { JwsPolicyData, SignedPolicyData } from '@signet/policy-engine/wire';
import test from 'ava';
import fc from 'fast-check';
import { internals } from '../../limits/row.ts';

const { jsonPieces } = await internals<{ jsonPieces(value: unknown): Iterable<string> }>(
  'policy-engine/src/json/json-pieces.ts',
);

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

const long = Array.from({ length: 1300 }, (_, id) => ({
  id,
  role: `r${id}`,
  conditions: { conditionsList: [{ id }] },
}));
const values: readonly (readonly [what: string, value: unknown])[] = [
  ['nothing', {}],
  ['members that are not there', { a: undefined, b: 1, c: undefined }],
  ['only members that are not there', { a: undefined }],
  ['a long list', long],
  [
    'long lists in short and long ones',
    { a: [{ b: long }, { b: [] }, null], c: long.map(() => ({ b: long.slice(0, 101) })) },
  ],
  ['members that are not there, in a long list', [long, ...long.map(() => undefined)]],
];
for (const [what, value] of values) {
  test(`JSON in pieces: ${what}`, (t) => t.true([...jsonPieces(value)].join('') === JSON.stringify(value)));
}

test('JSON in pieces is what JSON.stringify writes', (t) => {
  fc.assert(fc.property(fc.jsonValue(), (value) => [...jsonPieces(value)].join('') === JSON.stringify(value)));
  t.pass();
});

test('a long payload is signed byte by byte as JSON.stringify writes it, with pauses', async (t) => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  for (const text of ['x', 'é', '文', '😀', '"\\\n']) {
    const assertions = long.map(({ id }) => ({ id, role: text.repeat(50), action: 'a', resource: text.repeat(51) }));
    const policies = [
      { name: 'p', modified: '', assertions },
      { name: text.repeat(70_001), modified: '', assertions: [] },
    ];
    const data = { policyData: { domain: 'd', policies } } as unknown as SignedPolicyData;
    let pauses = 0;
    const pause = () => {
      pauses += 1;
      return pauses % 2 === 0 ? Promise.resolve() : undefined;
    };
    const inParts = await signBundleInParts(data, { kid: 'k', privateKey }, 'rfc7515', pause);
    const bundle = { payload: Buffer.concat(inParts.payload).toString(), ...inParts.rest };
    t.true(bundle.payload === Buffer.from(JSON.stringify(data)).toString('base64url'), text);
    t.true(pauses > 2, `${pauses}`);
    const signed = Buffer.from(`${bundle.protected}.${bundle.payload}`);
    const signature = Buffer.from(bundle.signature, 'base64url');
    t.true(verify('sha256', signed, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature));
    t.is(Buffer.concat(bundleText(inParts)).toString(), JSON.stringify(bundle));
  }
});
