import test from 'ava';
import { makeCertificate } from '#support/certificate-maker';
import { internals } from '../../limits/row.ts';

/* Valid certificate where a proxy may pass one on. */

interface Found {
  readonly kind: 'certificate' | 'none' | 'refused' | 'malformed';
  readonly certificate?: unknown;
}
const { clientCertificate } = await internals<{
  clientCertificate(peer: object, header: unknown, isTrustedProxy: boolean, now: number): Found;
}>('policy-engine/src/middleware/proxy-certificate.ts');

const now = 1_767_225_600_000;
const { certificate } = await makeCertificate({ name: 'media.player', notBefore: now - 5000, notAfter: now + 5000 });
const field = (bytes: Uint8Array) => `:${Buffer.from(bytes).toString('base64')}:`;
const own = { certificate: 'that of the connection' };
const passedOn = field(certificate.raw);

const cases: [note: string, found: Found, kind: Found['kind'], certificate?: unknown][] = [
  ['a connection with one', clientCertificate(own, undefined, false, now), 'certificate', own.certificate],
  ['a connection without one', clientCertificate({}, undefined, false, now), 'none'],
  [
    'a connection with one that is not valid',
    clientCertificate({ certificateRefused: true }, undefined, false, now),
    'refused',
  ],
  ['a header of somebody else', clientCertificate({}, passedOn, false, now), 'none'],
  ['a header of somebody with one', clientCertificate(own, passedOn, false, now), 'certificate', own.certificate],
  ['a proxy without a header', clientCertificate(own, undefined, true, now), 'none'],
  ['a proxy', clientCertificate(own, passedOn, true, now), 'certificate', certificate.raw],
  ['a proxy, with blanks around', clientCertificate({}, ` ${passedOn} `, true, now), 'certificate', certificate.raw],
  ['a proxy with two headers', clientCertificate({}, [passedOn, passedOn], true, now), 'malformed'],
  ['a proxy with a list of one', clientCertificate({}, [passedOn], true, now), 'malformed'],
  ['a field without colons', clientCertificate({}, passedOn.slice(1, -1), true, now), 'malformed'],
  ['an empty field', clientCertificate({}, '::', true, now), 'malformed'],
  ['a field that is not base64', clientCertificate({}, ':A:', true, now), 'malformed'],
  ['a field with something after it', clientCertificate({}, `${passedOn}, :AAAA:`, true, now), 'malformed'],
  ['bytes that are no certificate', clientCertificate({}, ':AAAA:', true, now), 'certificate', Buffer.alloc(3)],
  ['the first moment', clientCertificate({}, passedOn, true, now - 5000), 'certificate', certificate.raw],
  ['the last moment', clientCertificate({}, passedOn, true, now + 5000), 'certificate', certificate.raw],
  ['before its first moment', clientCertificate({}, passedOn, true, now - 5001), 'refused'],
  ['after its last moment', clientCertificate({}, passedOn, true, now + 5001), 'refused'],
];
for (const [note, found, kind, bytes] of cases) {
  test(`${note}: ${kind}`, (t) => {
    t.is(found.kind, kind);
    if (typeof bytes === 'string' || bytes === undefined) t.is(found.certificate, bytes);
    else t.deepEqual(Buffer.from(found.certificate as Uint8Array), bytes as Buffer);
  });
}
