import { DerReader, derNull, oid, sequence, tags } from '@signet/policy-engine/internal/der';
import { InvalidRequestError } from '@signet/server/errors';
import { parseCertificateRequest } from '@signet/server/x509/csr';
import test from 'ava';
import { ecPair, requestDer, toPem } from '#support/requests';

/* The outer forms of a request: one text for one message, and one message for one request. */

const pair = ecPair();

/** Request whose base64 ends with `count` `=`. */
function padded(count: number): string {
  for (let length = 1; ; length += 1) {
    const pem = toPem(requestDer(pair, { commonNames: ['x'.repeat(length)] }));
    if ((pem.match(/=+\n-/)?.[0].length ?? 2) - 2 === count) return pem;
  }
}

/** The same bits with those changed that the last digit has beyond the message. */
function withSpareBits(pem: string): string {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  return pem.replace(/(.)(=+\n-)/, (_, digit: string, rest: string) => digits[digits.indexOf(digit) + 1] + rest);
}

const spelled: readonly (readonly [note: string, pem: string])[] = [
  ['with spare bits before one `=`', withSpareBits(padded(1))],
  ['with spare bits before two `=`', withSpareBits(padded(2))],
  ['without its padding', padded(1).replace(/=\n-/, '\n-')],
  ['with `=` before its end', padded(0).replace(/\n-----END/, '====\n-----END')],
  ['with one digit less', padded(0).replace(/.\n-----END/, '\n-----END')],
];
for (const [note, pem] of spelled) {
  test(`base64 ${note} is refused`, (t) => {
    t.throws(() => parseCertificateRequest(pem), {
      instanceOf: InvalidRequestError,
      message: 'csr is not valid base64',
    });
  });
}

test('base64 with any padding is taken', (t) => {
  for (const count of [0, 1, 2]) t.notThrows(() => parseCertificateRequest(padded(count)));
});

test('parameters of a signature algorithm that has none are refused', (t) => {
  const request = requestDer(pair, { commonNames: ['catalog.api'] });
  const reader = new DerReader(request).enter(tags.sequence, 'the request');
  const info = reader.element(tags.sequence, 'the request information');
  reader.element(tags.sequence, 'the signature algorithm');
  const signature = reader.element(tags.bitString, 'the signature');
  const ecdsa = oid('1.2.840.10045.4.3.2');
  t.notThrows(() => parseCertificateRequest(toPem(sequence(info, sequence(ecdsa), signature))));
  t.throws(() => parseCertificateRequest(toPem(sequence(info, sequence(ecdsa, derNull), signature))), {
    instanceOf: InvalidRequestError,
    message: 'csr is malformed: the signature algorithm has more in it than it should',
  });
});
