import { X509Certificate } from 'node:crypto';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parseServiceName } from '@signet/policy-engine/names';
import { hostOfAuthority, ownHosts } from '@signet/server/http/host-names';
import { createAuthorities, issueServerCertificate } from '@signet/server/x509/certificate-authority';
import test from 'ava';
import { rawExchange } from '#support/raw-exchange';
import { caller, startServer, wholeFile } from '#support/start-server';

const file = wholeFile();
const server = await startServer(file, { domains: [{ name: 'media', services: { player: {} } }] });
const player = await server.pki.identity('media.player');
test.after.always(() => file.end());

const authorities: readonly (readonly [authority: string, host: string | undefined])[] = [
  ['localhost', 'localhost'],
  ['localhost:4443', 'localhost'],
  ['localhost.', 'localhost'],
  ['localhost.:4443', 'localhost'],
  ['127.0.0.1:1', '127.0.0.1'],
  ['[::1]', '::1'],
  ['[::1]:4443', '::1'],
  ['', undefined],
  [':4443', undefined],
  ['localhost:', undefined],
  ['localhost:123456', undefined],
  ['localhost..', 'localhost.'],
  ['a b', undefined],
  ['user@localhost', undefined],
  ['localhost/path', undefined],
  ['::1', undefined],
  ['[localhost]', undefined],
];

test('the host of an authority', (t) => {
  for (const [authority, host] of authorities) t.is(hostOfAuthority(authority), host, authority);
});

test('own hosts are those of the certificate and of the base URL', async (t) => {
  const { intermediate } = await createAuthorities(systemClock);
  const hosts = ['signet.example', '*.signet.example', '10.1.2.3', 'fd00::1'];
  const { certificate } = await issueServerCertificate(
    intermediate,
    { domain: parseDomainName('sys.auth'), service: parseServiceName('server'), trustDomain: 'signet.test', hosts },
    30,
    systemClock,
  );
  const isOwn = ownHosts(new X509Certificate(certificate), 'https://tokens.example:4443/v1');
  const cases: readonly (readonly [host: string, own: boolean])[] = [
    ['signet.example', true],
    ['SIGNET.Example', true],
    ['one.signet.example', true],
    ['one.two.signet.example', false],
    ['tokens.example', true],
    ['other.example', false],
    ['example', false],
    ['sys.auth.server', false],
    ['10.1.2.3', true],
    ['10.1.2.4', false],
    ['fd00::1', true],
    ['FD00:0::1', true],
    ['fd00::2', false],
    ['localhost', false],
  ];
  for (const [host, own] of cases) t.is(isOwn(host), own, host);
});

const requests: readonly (readonly [target: string, host: string | undefined, status: number, version?: string])[] = [
  ['/v1/oauth2/keys', 'localhost', 200],
  ['/v1/oauth2/keys', 'LOCALHOST:443', 200],
  ['/v1/oauth2/keys', 'localhost.', 200],
  ['/v1/oauth2/keys', '127.0.0.1:9', 200],
  ['/v1/oauth2/keys', '[::1]', 200],
  ['/v1/oauth2/keys', 'evil.example', 421],
  ['/v1/oauth2/keys', '127.0.0.2', 421],
  ['/v1/nothing', 'evil.example', 421],
  ['https://localhost/v1/oauth2/keys', 'localhost', 200],
  // The target counts, not the header beside it (RFC 9112 §3.2.2).
  ['https://localhost/v1/oauth2/keys', 'evil.example', 200],
  ['https://evil.example/v1/oauth2/keys', 'localhost', 421],
  ['https:///v1/oauth2/keys', 'localhost', 400],
  ['https://xn--/v1/oauth2/keys', 'localhost', 421],
  ['https://[::1/v1/oauth2/keys', 'localhost', 400],
  ['https://localhost/v1/oauth2/keys', undefined, 400],
  ['/v1/oauth2/keys', undefined, 400],
  ['/v1/oauth2/keys', undefined, 200, '1.0'],
  ['/v1/oauth2/keys', 'evil.example', 421, '1.0'],
  // Probes ask by address.
  ['/healthz', 'evil.example', 200],
  ['/v1/readyz', '10.0.0.1:4443', 200],
  ['/healthz', 'a b', 400],
];

for (const [target, host, status, version = '1.1'] of requests) {
  test(`${status} for ${target} of ${host} (HTTP/${version})`, async (t) => {
    const lines = [
      `GET ${target} HTTP/${version}`,
      ...(host === undefined ? [] : [`Host: ${host}`]),
      'Connection: close',
    ];
    const answer = await rawExchange(server, `${lines.join('\r\n')}\r\n\r\n`, player);
    t.is(answer.status, status, answer.text);
    if (status === 421) t.regex(answer.text, /the certificate of this server does not name the host of the request/);
  });
}

test('a request that was misdirected changes nothing and is not read', async (t) => {
  const call = caller(t, server, player);
  const form = { 'content-type': 'application/x-www-form-urlencoded', host: 'evil.example' };
  const body = 'grant_type=client_credentials&scope=media:domain';
  const answer = await call('/oauth2/token', { method: 'POST', headers: form, body });
  t.deepEqual([answer.status, answer.headers['connection']], [421, 'close']);
});
