import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { epochSeconds } from '@signet/policy-engine/clock';
import { serialRandomOctets } from '@signet/server/x509/build-certificate';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { authorityNames, buildIntermediate, buildRoot, newAuthorityKey } from '@signet/server/x509/new-authority';
import { lostNames, type Succession, successorFaults } from '@signet/server/x509/successor';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { openssl } from '#support/openssl';
import { temporaryFolder } from '#support/temp';

const clock = new FakeClock();
const now = epochSeconds(clock);
const day = 86_400;
const { root, intermediate } = await createAuthorities(clock);
const order = (days = 1825, at = now) => ({ now: at, days, random: randomBytes(serialRandomOctets) });
const rootIssuer = issuerFromPem(root.certificate, root.key);
const made = newAuthorityKey();
const only = (dns: readonly string[], ip: readonly string[] = []) => ({
  dns,
  uri: ['x.example'],
  email: ['.x.example'],
  ip,
});

function intermediateOf(names = authorityNames('x.example', undefined, []), days = 1825, above = rootIssuer) {
  return issuerFromPem(buildIntermediate(above, made.key, names, order(days)), made.pem);
}

const succession: Succession = {
  now,
  longestLife: 30 * day,
  roots: [
    { option: 'certificates.roots', pem: root.certificate },
    { option: 'tls.clientCa', pem: root.certificate },
  ],
  names: [
    {
      commonName: 'sys.auth.server',
      altNames: [
        { kind: 'uri', value: 'spiffe://x.example/ns/default/sa/sys.auth.server' },
        { kind: 'dns', value: 'server.sys-auth.x.example' },
        { kind: 'ip', value: '0a000001' },
      ],
    },
  ],
};

test('an intermediate that may sign here has no fault, with constraints that cover what it signs or without any', (t) => {
  t.deepEqual(successorFaults(intermediateOf(), succession), []);
  const constrained = authorityNames('x.example', only(['x.example'], ['0a000000ff000000']), []);
  t.deepEqual(successorFaults(intermediateOf(constrained), succession), []);
  t.deepEqual(successorFaults(issuerFromPem(intermediate.certificate, intermediate.key), succession), []);
  t.deepEqual(successorFaults(rootIssuer, succession), [], 'a root that signs by itself');
});

test('it has to lead to a valid root, of each file that clients and servers go by', async (t) => {
  const other = await createAuthorities(clock);
  const roots = [succession.roots[0], { option: 'tls.clientCa', pem: other.root.certificate }].filter((each) => !!each);
  t.deepEqual(successorFaults(intermediateOf(), { ...succession, roots }), [
    'its chain leads to no root of tls.clientCa that is valid',
  ]);
  const both = roots.map(({ option }) => ({ option, pem: other.root.certificate + root.certificate }));
  t.deepEqual(successorFaults(intermediateOf(), { ...succession, roots: both }), []);
  const short = newAuthorityKey();
  const ended = buildRoot(short, order(1, now - 2 * day));
  const below = issuerFromPem(
    buildIntermediate(
      issuerFromPem(ended, short.pem),
      made.key,
      authorityNames('x.example', undefined, []),
      order(9, now - 2 * day),
    ),
    made.pem,
  );
  const endedRoots = [{ option: 'certificates.roots', pem: ended }];
  t.deepEqual(successorFaults(below, { ...succession, roots: endedRoots }), [
    'its chain leads to no root of certificates.roots that is valid',
    'it has ended at 2025-12-31T00:00:00.000Z',
  ]);
});

test('it has to be valid now, and for as long as what it signs', (t) => {
  const issuer = intermediateOf(undefined, 30);
  t.deepEqual(successorFaults(issuer, succession), []);
  t.deepEqual(successorFaults(issuer, { ...succession, now: now + 1 }), [
    'it ends at 2026-01-31T00:00:00.000Z, before the longest life of the certificates that it would sign',
  ]);
  t.deepEqual(successorFaults(issuer, { ...succession, now: issuer.notBefore - 1 }).slice(-1), [
    'it is not valid before 2025-12-31T23:00:00.000Z',
  ]);
});

test('it has to be allowed to certify every name that the server gives', (t) => {
  const narrow = authorityNames('x.example', only(['other.example'], ['0a010000ffff0000']), []);
  t.deepEqual(successorFaults(intermediateOf(narrow), succession), [
    '`server.sys-auth.x.example` is outside of the name constraints of the issuing authority',
  ]);
  const noAddress = authorityNames('x.example', only(['x.example'], ['0a010000ffff0000']), []);
  t.deepEqual(successorFaults(intermediateOf(noAddress), succession), [
    '`10.0.0.1` is outside of the name constraints of the issuing authority',
  ]);
});

test('what the one before may certify and the next one not is named', (t) => {
  const wide = intermediateOf(authorityNames('x.example', only(['x.example', '.y.example'], ['0a000000ff000000']), []));
  const narrow = intermediateOf(authorityNames('x.example', only(['x.example'], ['0a010000ffff0000']), []));
  t.deepEqual(lostNames(wide, narrow), ['.y.example', 'network 0a000000/ff000000']);
  t.deepEqual(lostNames(narrow, wide), []);
  t.deepEqual(lostNames(wide, intermediateOf()), []);
});

test('it has to be allowed to sign certificates and revocation lists', async (t) => {
  const folder = temporaryFolder(t);
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  for (const [usage, isFit] of [
    ['keyCertSign', false],
    ['keyCertSign,digitalSignature', false],
    ['keyCertSign,cRLSign', true],
  ] as const) {
    const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', 'k.pem', '-out', 'c.pem', '-days', '60'];
    t.true((await openssl(folder, ...made, '-subj', '/CN=x', '-addext', `keyUsage=critical,${usage}`)).ok);
    const issuer = issuerFromPem(read('c.pem'), read('k.pem'));
    const at = { ...succession, now: issuer.notBefore, roots: [{ option: 'tls.clientCa', pem: read('c.pem') }] };
    const faults = ['its key usage does not allow it to sign certificates and revocation lists'];
    t.deepEqual(successorFaults(issuer, at), isFit ? [] : faults, usage);
  }
});
