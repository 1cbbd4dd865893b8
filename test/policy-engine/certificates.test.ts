import type { X509Certificate } from 'node:crypto';
import test from 'ava';
import { type MadeCertificate, makeCertificate } from '#support/certificate-maker';
import { internals } from '../limits/row.ts';

/* Reading of certificates from programs: each accepted form, and malformed ones. */

const { parseAuthorities, parseChain } = await internals<{
  parseAuthorities(input: unknown, option?: string): readonly X509Certificate[];
  parseChain(input: unknown): { leaf: X509Certificate; intermediates: readonly X509Certificate[] } | undefined;
}>('policy-engine/src/certificates/read-certificates.ts');

const [one, other] = [await makeCertificate({ name: 'one' }), await makeCertificate({ name: 'other' })];
const subjects = (list: readonly X509Certificate[] | undefined) => list?.map(({ subject }) => subject);

const authorities: [note: string, input: unknown, expected: string[] | undefined][] = [
  ['a PEM text', one.pem, ['CN=one']],
  ['a PEM text of two', one.pem + other.pem, ['CN=one', 'CN=other']],
  ['an object', one.certificate, ['CN=one']],
  [
    'a list of forms',
    [one.certificate, other.pem, one.certificate.raw, { raw: other.certificate.raw }],
    ['CN=one', 'CN=other', 'CN=one', 'CN=other'],
  ],
  ['nothing', undefined, undefined],
  ['an empty list', [], undefined],
  ['a text that is none', 'x', undefined],
  ['a list with one that is none', [one.pem, 'x'], undefined],
  ['bytes that are none', new Uint8Array([1]), undefined],
];
for (const [note, input, expected] of authorities) {
  test(`authorities: ${note}`, (t) => {
    if (expected !== undefined) t.deepEqual(subjects(parseAuthorities(input)), expected);
    else t.throws(() => parseAuthorities(input, 'given'), { message: /^`given` must be certificates/ });
  });
}

/** Certificate in Node's legacy form, with `issuers` behind it. */
function linked(made: MadeCertificate, issuers: number): object {
  const { raw } = made.certificate;
  return issuers === 0 ? { raw } : { raw, issuerCertificate: linked(other, issuers - 1) };
}
const ofItself: { raw: Uint8Array; issuerCertificate?: unknown } = { raw: other.certificate.raw };
ofItself.issuerCertificate = ofItself;

const chains: [note: string, input: unknown, intermediates: number | undefined][] = [
  ['a PEM text', one.pem, 0],
  ['a PEM text with two behind', one.pem + other.pem + other.pem, 2],
  ['an object', one.certificate, 0],
  ['bytes', one.certificate.raw, 0],
  ['the legacy form with two issuers', linked(one, 2), 2],
  [
    'the legacy form that ends with one that issued itself',
    { raw: one.certificate.raw, issuerCertificate: ofItself },
    1,
  ],
  ['an issuer that is null', { raw: one.certificate.raw, issuerCertificate: null }, 0],
  ['an issuer that is a number', { raw: one.certificate.raw, issuerCertificate: 7 }, 0],
  ['nine issuers, one more than may be', linked(one, 9), 9],
  ['more issuers than are looked at', linked(one, 20), 9],
  ['nothing', undefined, undefined],
  ['null', null, undefined],
  ['a number', 7, undefined],
  ['an empty text', '', undefined],
  ['a text that is none', 'x', undefined],
  ['an object without bytes', {}, undefined],
  ['bytes that are none', new Uint8Array([1]), undefined],
];
for (const [note, input, intermediates] of chains) {
  test(`a chain: ${note}`, (t) => {
    const chain = parseChain(input);
    t.is(chain?.leaf.subject, intermediates === undefined ? undefined : 'CN=one');
    t.is(chain?.intermediates.length, intermediates);
  });
}
