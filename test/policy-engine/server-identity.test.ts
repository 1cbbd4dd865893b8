import type { PeerCertificate } from 'node:tls';
import { checkServerIs, hostNameOnly, serverIdentityCode } from '@signet/policy-engine/server-identity';
import test from 'ava';

/* Names in a server's certificate, one by one. */

const host = 'tokens.example';
const id = 'spiffe://signet.test/ns/default/sa/sys.auth.server';
const certificate = (...uris: string[]): PeerCertificate =>
  ({ subject: {}, subjectaltname: [`DNS:${host}`, ...uris.map((uri) => `URI:${uri}`)].join(', ') }) as never;
const answer = (wanted: string | undefined, shown: PeerCertificate, name = host) => {
  const error = checkServerIs(wanted)(name, shown);
  return error && ('code' in error ? String(error.code) : error.message);
};

const shown: [note: string, wanted: string | undefined, shown: PeerCertificate, answer: string | undefined][] = [
  ['the token server', undefined, certificate(id), undefined],
  ['the token server of another trust domain', undefined, certificate(id.replace('signet', 'other')), undefined],
  ['another service', undefined, certificate(id.replace('server', 'client')), serverIdentityCode],
  ['a longer name', undefined, certificate(`${id}.x`), serverIdentityCode],
  ['a longer path', undefined, certificate(`${id}/x`), serverIdentityCode],
  ['no id', undefined, certificate(), serverIdentityCode],
  ['two ids', undefined, certificate(id, id), serverIdentityCode],
  [
    'a quoted name beside',
    undefined,
    { ...certificate(id), subjectaltname: `DNS:${host}, URI:${id}, DNS:"x"` },
    serverIdentityCode,
  ],
  ['a whole id', id, certificate(id), undefined],
  ['a whole id of another trust domain', id, certificate(id.replace('signet', 'other')), serverIdentityCode],
  ['a principal in capitals', 'SYS.Auth.Server', certificate(id), undefined],
  ['a host name alone', hostNameOnly, certificate(), undefined],
];
for (const [note, wanted, certificateShown, expected] of shown) {
  test(`the certificate of ${note}`, (t) => t.is(answer(wanted, certificateShown), expected));
}

test('the name of the host is checked in any case', (t) => {
  for (const wanted of [undefined, id, hostNameOnly]) {
    t.is(answer(wanted, certificate(id), 'elsewhere.example'), 'ERR_TLS_CERT_ALTNAME_INVALID');
  }
});

for (const wanted of ['', 'server', 'sys:group.server', 'a b.c', 'spiffe://', 'https://x/y', 7, null, [id]]) {
  test(`no identity of a server: ${wanted}`, (t) => {
    t.throws(() => checkServerIs(wanted as never), { message: /^`serverIdentity` must be/ });
  });
}

test('an error says whose certificate was shown', (t) => {
  const error = (uris: string[]) => checkServerIs()(host, certificate(...uris))?.message ?? '';
  t.regex(error([]), /has no SPIFFE id, not of the token server/);
  t.regex(error(['spiffe://a/b', 'spiffe://a/c']), /is of `spiffe:\/\/a\/b spiffe:\/\/a\/c`/);
});
