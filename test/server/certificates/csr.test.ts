import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  bitString,
  derNull,
  element,
  octetString,
  oid,
  sequence,
  set,
  unsigned,
  utf8String,
} from '@signet/policy-engine/internal/der';
import { InvalidRequestError } from '@signet/server/errors';
import { parseCertificateRequest } from '@signet/server/x509/csr';
import { type KeyKind, loadSubjectKey } from '@signet/server/x509/subject-key';
import test from 'ava';
import { assertWithin, leastProcessorMs } from '#support/cost';
import { openssl } from '#support/openssl';
import { commonName, ecPair, type RequestShape, requestDer, requestPem, toPem } from '#support/requests';
import { temporaryFolder } from '#support/temp';

const pair = ecPair();
const ask: RequestShape = {
  commonNames: ['catalog.api'],
  altNames: [
    ['uri', 'spiffe://signet.test/ns/default/sa/catalog.api'],
    ['dns', 'i-1.instanceid.signet.test'],
    ['ip', Buffer.of(127, 0, 0, 1)],
  ],
};

function refusal(pem: string): string {
  try {
    parseCertificateRequest(pem);
  } catch (error) {
    if (error instanceof InvalidRequestError) return error.message;
    throw error;
  }
  return 'accepted';
}

test('a request is read with its names typed', (t) => {
  const request = parseCertificateRequest(requestPem(pair, ask));
  t.is(request.commonName, 'catalog.api');
  t.deepEqual(request.altNames, [
    { kind: 'uri', value: 'spiffe://signet.test/ns/default/sa/catalog.api' },
    { kind: 'dns', value: 'i-1.instanceid.signet.test' },
    { kind: 'ip', value: '7f000001' },
  ]);
  t.is(request.subjectKey.kind, 'P-256');
  t.true(loadSubjectKey(request.subjectKey).equals(pair.publicKey));
});

const keys: readonly (readonly [name: string, args: readonly string[], kind: KeyKind])[] = [
  ['P-256', ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256'], 'P-256'],
  ['P-384', ['ec', '-pkeyopt', 'ec_paramgen_curve:P-384'], 'P-384'],
  ['RSA 2048', ['rsa', '-pkeyopt', 'rsa_keygen_bits:2048'], 'rsa'],
  ['RSA 3072', ['rsa', '-pkeyopt', 'rsa_keygen_bits:3072'], 'rsa'],
  ['Ed25519', ['ed25519'], 'ed25519'],
];
for (const [name, args, kind] of keys) {
  test(`requests by openssl: ${name}`, async (t) => {
    const folder = temporaryFolder(t);
    const made = await openssl(
      folder,
      'req',
      '-new',
      '-newkey',
      ...args,
      '-nodes',
      '-keyout',
      'k.pem',
      '-out',
      'r.pem',
      '-subj',
      '/CN=catalog.api',
      '-addext',
      'subjectAltName=DNS:a.signet.test,URI:spiffe://signet.test/ns/default/sa/catalog.api',
    );
    t.true(made.ok, made.output);
    const request = parseCertificateRequest(readFileSync(join(folder, 'r.pem'), 'utf8'));
    t.is(request.subjectKey.kind, kind);
    t.deepEqual(
      request.altNames.map(({ value }) => value),
      ['a.signet.test', 'spiffe://signet.test/ns/default/sa/catalog.api'],
    );
  });
}

test('a request with text before it, with CRLF and with the older label is read', (t) => {
  const pem = requestPem(pair, ask);
  for (const text of [
    `Certificate Request:\n    Data:\n${pem}`,
    pem.replaceAll('\n', '\r\n'),
    pem.replaceAll('CERTIFICATE REQUEST', 'NEW CERTIFICATE REQUEST'),
  ]) {
    t.is(parseCertificateRequest(text).commonName, 'catalog.api');
  }
});

test('a request that asks for more than names yields only the names', (t) => {
  const caTrue = sequence(
    oid('2.5.29.19'),
    Buffer.from('0101ff', 'hex'),
    octetString(sequence(Buffer.from('0101ff', 'hex'))),
  );
  const keyCertSign = sequence(oid('2.5.29.15'), octetString(Buffer.from('03020106', 'hex')));
  const emptyUsage = sequence(oid('2.5.29.37'), octetString(sequence()));
  const password = sequence(oid('1.2.840.113549.1.9.7'), set(utf8String('secret')));
  const request = parseCertificateRequest(
    requestPem(pair, { ...ask, moreExtensions: [caTrue, keyCertSign, emptyUsage], moreAttributes: [password] }),
  );
  t.deepEqual(Object.keys(request).sort(), ['altNames', 'commonName', 'subject', 'subjectKey']);
  t.is(request.altNames.length, 3);
});

const rsaAlgorithm = sequence(oid('1.2.840.113549.1.1.1'), derNull);
function rsaSpki(bits: number, exponent: Buffer): Buffer {
  const modulus = Buffer.alloc(bits / 8, 0xff);
  return sequence(rsaAlgorithm, bitString(sequence(unsigned(modulus), unsigned(exponent))));
}
function ecSpki(parameters: Buffer, point: Buffer): Buffer {
  return sequence(sequence(oid('1.2.840.10045.2.1'), parameters), bitString(point));
}
const e65537 = Buffer.of(1, 0, 1);
const point = pair.publicKey.export({ type: 'spki', format: 'der' }).subarray(-65);
const offCurve = Buffer.from(point);
offCurve[64] = (offCurve[64] ?? 0) ^ 1;
const p256 = oid('1.2.840.10045.3.1.7');
const ed448 = generateKeyPairSync('ed448').publicKey.export({ type: 'spki', format: 'der' });
const p521 = generateKeyPairSync('ec', { namedCurve: 'P-521' }).publicKey.export({ type: 'spki', format: 'der' });

const refused: readonly (readonly [name: string, shape: RequestShape, message: RegExp])[] = [
  ['no common name', { commonNames: [] }, /^csr subject must have exactly one common name$/],
  ['two common names', { commonNames: ['catalog.api', 'media.player'] }, /exactly one common name/],
  [
    'a relative name of two values',
    {
      commonNames: [],
      moreSubject: [set(sequence(oid('2.5.4.3'), utf8String('a.b')), sequence(oid('2.5.4.10'), utf8String('x')))],
    },
    /a relative name has more in it/,
  ],
  [
    'a common name that is not a text',
    { commonNames: [], moreSubject: [set(sequence(oid('2.5.4.3'), element(0x1e, Buffer.from('00610062', 'hex'))))] },
    /name must be a UTF-8/,
  ],
  [
    'a common name that is not UTF-8',
    { commonNames: [], moreSubject: [set(sequence(oid('2.5.4.3'), element(0x0c, Buffer.of(0xff, 0xfe))))] },
    /not valid UTF-8/,
  ],
  ['a signature of another key', { ...ask, signer: ecPair().privateKey }, /signature was not made with the key/],
  ['SHA-1', { ...ask, algorithm: '1.2.840.10045.4.1', digest: 'sha1' }, /signature must be ECDSA or RSA/],
  [
    'an RSA signature algorithm for an EC key',
    { ...ask, algorithm: '1.2.840.113549.1.1.11' },
    /signature was not made/,
  ],
  ['RSA of 1024 bits', { ...ask, spki: rsaSpki(1024, e65537) }, /RSA keys must have 2048 to 8192 bits/],
  ['RSA of 16384 bits', { ...ask, spki: rsaSpki(16_384, e65537) }, /RSA keys must have 2048 to 8192 bits/],
  ['RSA with e = 1', { ...ask, spki: rsaSpki(2048, Buffer.of(1)) }, /exponent must be odd/],
  ['RSA with e = 2', { ...ask, spki: rsaSpki(2048, Buffer.of(2)) }, /exponent must be odd/],
  [
    'RSA with e = 2^4096',
    { ...ask, spki: rsaSpki(2048, Buffer.concat([Buffer.of(1), Buffer.alloc(512)])) },
    /exponent must be odd/,
  ],
  ['P-192', { ...ask, spki: ecSpki(oid('1.2.840.10045.3.1.1'), Buffer.alloc(49, 4)) }, /curve must be P-256 or P-384/],
  ['P-521', { ...ask, spki: p521 }, /curve must be P-256 or P-384/],
  [
    'curve parameters instead of a name',
    { ...ask, spki: ecSpki(sequence(unsigned(Buffer.of(1))), point) },
    /a curve must be named/,
  ],
  ['a point that is not on the curve', { ...ask, spki: ecSpki(p256, offCurve) }, /not a valid key of its kind/],
  [
    'a compressed point',
    { ...ask, spki: ecSpki(p256, Buffer.concat([Buffer.of(2), point.subarray(1, 33)])) },
    /point must be uncompressed/,
  ],
  ['the point at infinity', { ...ask, spki: ecSpki(p256, Buffer.of(0)) }, /point must be uncompressed/],
  ['Ed448', { ...ask, spki: ed448 }, /key must be P-256, P-384, RSA or Ed25519/],
  [
    '1,000 names',
    { ...ask, altNames: Array.from({ length: 1000 }, (_, i) => ['dns', `a${i}.x`] as const) },
    /more than 64 alternative names|too long/,
  ],
  [
    '10,000 names',
    { ...ask, altNames: Array.from({ length: 10_000 }, (_, i) => ['dns', `a${i}.x`] as const) },
    /^csr is too long$/,
  ],
  [
    'extensions in two attributes',
    { ...ask, moreAttributes: [sequence(oid('1.2.840.113549.1.9.14'), set(sequence()))] },
    /extensions are asked for twice/,
  ],
  [
    '100 names',
    { ...ask, altNames: Array.from({ length: 100 }, (_, i) => ['dns', `a${i}.x`] as const) },
    /more than 64 alternative names/,
  ],
  ['a NUL in a name', { ...ask, altNames: [['dns', 'catalog.api\0.evil.com']] }, /a character that no name has/],
  ['a blank in a name', { ...ask, altNames: [['uri', 'spiffe://x/sa/y, DNS:evil']] }, /a character that no name has/],
  ['an empty name', { ...ask, altNames: [['dns', '']] }, /empty or too long/],
  ['an IP address of five octets', { ...ask, altNames: [['ip', Buffer.alloc(5, 1)]] }, /four or sixteen octets/],
  ['no names in the extension', { ...ask, altNames: [] }, /empty list/],
  [
    'the same extension twice',
    { ...ask, moreExtensions: [sequence(oid('2.5.29.17'), octetString(sequence(element(0x82, Buffer.from('a.b')))))] },
    /asked for twice/,
  ],
];
for (const [name, shape, message] of refused) {
  test(`refused: ${name}`, async (t) => {
    const pem = requestPem(pair, { commonNames: ['catalog.api'], ...shape });
    t.regex(refusal(pem), message);
    assertWithin(t, 'processor time', await leastProcessorMs(() => refusal(pem), 50), 50, 'ms');
  });
}

test('every truncation of a request, and every octet changed, is refused or read, and never anything else', (t) => {
  const der = requestDer(pair, ask);
  for (let length = 0; length < der.length; length += 1) {
    t.not(refusal(toPem(der.subarray(0, length))), 'accepted');
  }
  for (let at = 0; at < der.length; at += 1) {
    for (const bit of [0x01, 0x80]) {
      const changed = Buffer.from(der);
      changed[at] = (changed[at] ?? 0) ^ bit;
      t.not(refusal(toPem(changed)), 'accepted', `octet ${at}`);
    }
  }
});

test('trailing octets, indefinite lengths and deep nesting are refused', (t) => {
  const der = requestDer(pair, ask);
  t.regex(refusal(toPem(Buffer.concat([der, Buffer.of(0)]))), /followed by other bytes/);
  const indefinite = Buffer.concat([Buffer.of(0x30, 0x80), der.subarray(4), Buffer.of(0, 0)]);
  t.regex(refusal(toPem(indefinite)), /indefinite lengths/);
  const long = Buffer.concat([Buffer.of(0x30, 0x83, 0), der.subarray(2)]);
  t.regex(refusal(toPem(long)), /shortest form/);
  for (const length of ['84ffffffff', '847fffffff', '88ffffffffffffffff', 'ff'.repeat(128)]) {
    t.regex(refusal(toPem(Buffer.concat([Buffer.from(`30${length}`, 'hex'), der]))), /a length is too large/);
  }
  let deep = sequence();
  for (let i = 0; i < 2000; i += 1) deep = sequence(deep);
  t.regex(
    refusal(requestPem(pair, { ...ask, moreAttributes: [sequence(oid('1.2.3.4'), set(deep))] })),
    /nested too deeply/,
  );
});

for (const [name, text] of [
  ['nothing', ''],
  ['no PEM', 'hello'],
  ['another label', requestPem(pair, ask).replaceAll('CERTIFICATE REQUEST', 'CERTIFICATE')],
  ['two requests', requestPem(pair, ask) + requestPem(pair, ask)],
  ['bad base64', requestPem(pair, ask).replace(/A/, '*')],
  [
    'a missing padding',
    toPem(requestDer(pair, ask))
      .replace(/=+\n-----END/, '\n-----END')
      .replace(/.\n-----END/, '\n-----END'),
  ],
  ['a megabyte', `-----BEGIN CERTIFICATE REQUEST-----\n${'A'.repeat(1_000_000)}\n-----END CERTIFICATE REQUEST-----`],
] as const) {
  test(`refused text: ${name}`, (t) => {
    t.regex(
      refusal(text),
      /^csr (must be one PKCS #10 request in PEM form|is too long|is not valid base64|is malformed: .*)$/,
    );
  });
}

test('the common name helper makes what the reader reads', (t) => {
  t.is(parseCertificateRequest(requestPem(pair, { moreSubject: [commonName('a.b')] })).commonName, 'a.b');
});
