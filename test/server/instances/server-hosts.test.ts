import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parseServiceName } from '@signet/policy-engine/names';
import { publishedHosts, serverHostsOf } from '@signet/server/compose/compose-identity';
import { createAuthorities, issueServerCertificate } from '@signet/server/x509/certificate-authority';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

test('the server is known by its addresses and by the names of its certificate', async (t) => {
  const { intermediate } = await createAuthorities(systemClock);
  const identity = {
    domain: parseDomainName('sys.auth'),
    service: parseServiceName('server'),
    trustDomain: 'signet.test',
  };
  const names = ['localhost', 'tokens.internal.test', '*.wild.test'];
  const { certificate } = await issueServerCertificate(intermediate, { ...identity, hosts: names }, 30, systemClock);
  const file = join(temporaryFolder(t), 'server.pem');
  writeFileSync(file, certificate);
  const tls = { certificate: file, key: file, clientCa: file, renew: false };
  const isServerHost = serverHostsOf({
    baseUrl: 'https://Tokens.example.com.:8443/v1',
    issuer: 'https://id.test',
    tls,
  });
  for (const host of ['tokens.example.com', 'id.test', 'tokens.internal.test']) t.true(isServerHost(host), host);
  for (const host of ['example.com', 'x.tokens.example.com', 'internal.test', 'a.wild.test'])
    t.false(isServerHost(host), host);
  t.false(serverHostsOf({ baseUrl: undefined, issuer: undefined, tls })('tokens.example.com'));
});

test('addresses that clients are given are addresses of the server', (t) => {
  const hosts = publishedHosts({ baseUrl: 'https://[2001:db8::1]:443', issuer: 'https://192.0.2.1/x' });
  t.deepEqual(hosts, ['2001:db8::1', '192.0.2.1']);
});
