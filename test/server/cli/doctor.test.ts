import 'reflect-metadata';
import { KeyObject } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { X509CertificateGenerator } from '@peculiar/x509';
import { formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { checkCertificate } from '@signet/server/cli/doctor/certificate-checks';
import type { Finding } from '@signet/server/cli/doctor/finding';
import { checkPolicy } from '@signet/server/cli/doctor/policy-check';
import { checkServer, checkTlsProbe } from '@signet/server/cli/doctor/server-checks';
import test from 'ava';
import { createPki } from '#support/pki';
import { temporaryFolder } from '#support/temp';

const minute = 60_000;
const day = 1440 * minute;
const now = systemClock.now();
const pki = await createPki();
const player = await pki.identity('media.player', 30);
const guest = await pki.identity('media.guest', 30);
const stranger = await createPki();
const serverOnly = await pki.odd({ subject: 'CN=media.player', usages: ['1.3.6.1.5.5.7.3.1'] });
const useless = await pki.odd({ subject: 'CN=media.player', usages: 'none' });

/** `check state`, and whether there is advice. */
const brief = (findings: readonly Finding[]) =>
  findings.map(({ check, state, advice }) => `${check} ${state}${advice === undefined ? '' : ', advised'}`);

const leafOnly = player.certificate.slice(0, player.certificate.indexOf('-----END CERTIFICATE-----') + 26);
const good = { ...player, caBundle: pki.bundle };
const ok = ['certificate ok', 'identity ok', 'chain ok'];

const identities: readonly (readonly [
  name: string,
  change: Partial<typeof good>,
  at: number,
  expected: readonly string[],
])[] = [
  ['in order', {}, now, ok],
  ['ended', {}, now + 31 * day, ['certificate failed, advised', 'identity ok', 'chain ok']],
  ['near its end', {}, now + 29 * day, ['certificate warning, advised', 'identity ok', 'chain ok']],
  ['not yet valid', {}, now - 2 * day, ['certificate failed, advised', 'identity ok', 'chain ok']],
  ['with the key of another', { key: guest.key }, now, ['certificate ok', 'identity failed, advised', 'chain ok']],
  ['without a key', { key: '' }, now, ['certificate ok', 'identity failed, advised', 'chain ok']],
  ['without intermediate', { certificate: leafOnly }, now, ['certificate ok', 'identity ok', 'chain warning, advised']],
  [
    'of another authority',
    { caBundle: stranger.bundle },
    now,
    ['certificate ok', 'identity ok', 'chain warning, advised'],
  ],
  ['for servers alone', serverOnly, now, ['certificate failed, advised', 'identity ok', 'chain ok']],
  ['of no stated use', useless, now, ['certificate failed, advised', 'identity ok', 'chain ok']],
  ['that was never made', { certificate: '', key: '' }, now, ['certificate failed, advised']],
  ['that is not a certificate', { certificate: 'x' }, now, ['certificate failed, advised']],
];

for (const [name, change, at, expected] of identities) {
  test(`an identity ${name}`, (t) => {
    t.deepEqual(brief(checkCertificate({ ...good, ...change }, at)), expected);
  });
}

test('a host that never registered, and a certificate for servers, are told apart', (t) => {
  const found = (change: Partial<typeof good>) => checkCertificate({ ...good, ...change }, now)[0]?.found;
  t.is(
    found({ certificate: '' }),
    'no certificate can be read: this host is not registered, or the files belong to another user',
  );
  t.is(found(serverOnly), 'CN=media.player lacks the extended key usage clientAuth');
});

for (const [bits, state] of [
  [2048, 'identity warning, advised'],
  [3072, 'identity ok'],
] as const) {
  test(`an identity with an RSA key of ${bits} bits`, async (t) => {
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
    const usual = { ...algorithm, modulusLength: bits, publicExponent: Uint8Array.of(1, 0, 1) };
    const keys = await crypto.subtle.generateKey(usual, true, ['sign', 'verify']);
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: 'CN=media.player',
      keys,
      signingAlgorithm: algorithm,
    });
    const key = KeyObject.from(keys.privateKey).export({ format: 'pem', type: 'pkcs8' }).toString();
    const pem = certificate.toString('pem');
    const findings = checkCertificate({ certificate: pem, key, caBundle: pem }, now);
    t.deepEqual(brief(findings.filter(({ check }) => check === 'identity')), [state]);
  });
}

const clocks: readonly (readonly [skew: number, expected: string, found: string])[] = [
  [0, 'clock ok', 'the clocks agree'],
  [-minute, 'clock ok', 'the clocks agree'],
  [3 * minute, 'clock warning, advised', "the clock of this host is 3 minutes behind the server's"],
  [-3 * minute, 'clock warning, advised', "the clock of this host is 3 minutes ahead of the server's"],
  [3 * day, 'clock failed, advised', "the clock of this host is 3 days behind the server's"],
];

for (const [skew, expected, found] of clocks) {
  test(`a server whose clock is ${skew} ms ahead`, (t) => {
    const [, clock] = checkTlsProbe({ notBefore: now - day, notAfter: now + 30 * day, date: now + skew }, now);
    t.deepEqual(brief(clock === undefined ? [] : [clock]), [expected]);
    t.is(clock?.found, found);
  });
}

test('a server certificate that ends soon, and no clock', (t) => {
  const findings = checkTlsProbe({ notBefore: now - 29 * day, notAfter: now + day }, now);
  t.deepEqual(brief(findings), ['server certificate warning, advised']);
});

for (const [issuer, baseUrl, warns] of [
  ['https://localhost:4443/v1', 'https://tokens.example.com/v1', true],
  ['https://127.0.0.1:4443/v1', 'https://10.0.0.1:4443/v1', true],
  ['https://[::1]:4443/v1', 'https://tokens.example.com/v1', true],
  ['https://localhost:4443/v1', 'https://localhost:4443/v1', false],
  ['https://localhost:4443/v1', 'https://[::1]:4443/v1', false],
  ['https://tokens.example.com/v1', 'https://10.0.0.1:4443/v1', false],
  ['https://localhost.example.com/v1', 'https://10.0.0.1:4443/v1', false],
] as const) {
  test(`a server that is called ${baseUrl} and says ${issuer}`, async (t) => {
    const keys = async () => ({ keys: [{}] }) as never;
    const metadata = async () => ({ issuer }) as never;
    const findings = await checkServer({ keys, metadata }, baseUrl);
    const found = findings.filter(({ check }) => check === 'address').map(({ state, found: what }) => [state, what]);
    t.deepEqual(found, warns ? [['warning', `the issuer of its tokens is ${issuer}`]] : []);
  });
}

test('policy of every age', (t) => {
  const folder = temporaryFolder(t);
  t.deepEqual(brief(checkPolicy(folder, now)), ['policy failed, advised']);
  const fetched = (ago: number, left: number, error?: string) => ({
    lastSuccess: formatTimestamp(now - ago),
    expires: formatTimestamp(now + left),
    error,
  });
  const domains = {
    fresh: fetched(minute, 7 * day),
    late: fetched(60 * minute, 6 * day, 'no answer'),
    ended: fetched(8 * day, -day),
    never: { error: 'refused' },
  };
  writeFileSync(join(folder, 'status.json'), JSON.stringify({ domains }));
  t.deepEqual(
    checkPolicy(folder, now).map(({ state, found }) => `${state}: ${found}`),
    [
      'ok: `fresh` was confirmed 60 seconds ago',
      'warning: `late` was confirmed 60 minutes ago (no answer)',
      'failed: `ended` expired 24 hours ago: all access is denied',
      'failed: `never` was never fetched (refused)',
    ],
  );
});
