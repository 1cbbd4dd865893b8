import { X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import {
  buildTbsCertificate,
  serialFrom,
  serialRandomOctets,
  signCertificate,
} from '@signet/server/x509/build-certificate';
import type { CertificateProfile } from '@signet/server/x509/certificate-profile';
import { certificateToPem, readCertificate } from '@signet/server/x509/certificate-reader';
import { buildCrl, crlToPem } from '@signet/server/x509/crl';
import { parseCertificateRequest } from '@signet/server/x509/csr';
import { relativeName } from '@signet/server/x509/distinguished-name';
import { CertificateMismatchError, inspectCertificate } from '@signet/server/x509/inspect-certificate';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { oids } from '@signet/server/x509/oids';
import test from 'ava';
import { type AuthorityKind, makeAuthority } from '#support/authority';
import { openssl } from '#support/openssl';
import { ecPair, requestPem } from '#support/requests';
import { temporaryFolder } from '#support/temp';
import { countTurns } from '#support/turns';

const now = epochSeconds(systemClock);
const pair = ecPair();
const { subjectKey } = parseCertificateRequest(requestPem(pair, { commonNames: ['catalog.api'] }));
const profile: CertificateProfile = {
  kind: 'instance',
  commonName: 'catalog.api',
  subject: [relativeName(oids.commonName, 'catalog.api')],
  altNames: [
    { kind: 'uri', value: 'spiffe://signet.test/ns/default/sa/catalog.api' },
    { kind: 'dns', value: 'i-1.instanceid.signet.test' },
    { kind: 'ip', value: '7f000001' },
  ],
  usage: 'both',
  notBefore: now - 3600,
  notAfter: now + 86_400,
};
const serial = serialFrom(1_800_000_000, Buffer.from('ff00112233445566778899aa', 'hex'));

for (const kind of ['P-256', 'P-384', 'rsa'] satisfies AuthorityKind[]) {
  test(`a certificate and a revocation list of an authority with ${kind} pass openssl`, async (t) => {
    const folder = temporaryFolder(t);
    const authority = await makeAuthority(folder, kind);
    const issuer = issuerFromPem(authority.certificatePem, authority.keyPem);
    t.is(issuer.kind, kind);
    const der = signCertificate(buildTbsCertificate(profile, subjectKey, issuer, serial), issuer);
    inspectCertificate(der, { profile, subjectKey, issuer, serial: serial.toString('hex') });
    writeFileSync(join(folder, 'leaf.pem'), certificateToPem(der));
    for (const purpose of ['sslclient', 'sslserver']) {
      const answer = await openssl(
        folder,
        'verify',
        '-x509_strict',
        '-purpose',
        purpose,
        '-CAfile',
        'test.root.pem',
        '-untrusted',
        'test.ca.pem',
        'leaf.pem',
      );
      t.deepEqual(answer, { ok: true, output: 'leaf.pem: OK\n' });
    }
    const text = await openssl(
      folder,
      'x509',
      '-in',
      'leaf.pem',
      '-noout',
      '-serial',
      '-subject',
      '-ext',
      'basicConstraints,keyUsage,extendedKeyUsage,subjectAltName',
    );
    t.is(
      text.output,
      `serial=6B49D2000000FF001122334455667788
subject=CN = catalog.api
X509v3 Basic Constraints: critical
    CA:FALSE
X509v3 Key Usage: critical
    Digital Signature
X509v3 Extended Key Usage: 
    TLS Web Server Authentication, TLS Web Client Authentication
X509v3 Subject Alternative Name: 
    URI:spiffe://signet.test/ns/default/sa/catalog.api, DNS:i-1.instanceid.signet.test, IP Address:127.0.0.1
`,
    );
    const known = new X509Certificate(der);
    t.true(known.checkIssued(new X509Certificate(authority.certificatePem)));

    for (const [revoked, expected] of [
      [[], 'leaf.pem: OK'],
      [
        [{ serial: serial.toString('hex'), revokedAt: now - 60, reason: 'key-compromise' as const }],
        'certificate revoked',
      ],
    ] as const) {
      const crl = await buildCrl(issuer, {
        revoked,
        number: BigInt(revoked.length + 1),
        thisUpdate: now - 60,
        nextUpdate: now + 3600,
      });
      writeFileSync(join(folder, 'list.pem'), await crlToPem(crl));
      const checked = await openssl(
        folder,
        'verify',
        '-x509_strict',
        '-crl_check',
        '-CRLfile',
        'list.pem',
        '-CAfile',
        'test.root.pem',
        '-untrusted',
        'test.ca.pem',
        'leaf.pem',
      );
      t.true(checked.output.includes(expected), checked.output);
      const shown = await openssl(folder, 'crl', '-in', 'list.pem', '-noout', '-crlnumber');
      t.is(shown.output, `crlNumber=0x${String(revoked.length + 1).padStart(2, '0')}\n`);
    }
  });
}

test('times from 2050 on are written in the longer form', async (t) => {
  const folder = temporaryFolder(t);
  const authority = await makeAuthority(folder, 'P-256', 'test', 18_000);
  const issuer = issuerFromPem(authority.certificatePem, authority.keyPem);
  const late = { ...profile, notAfter: 2_556_144_000 };
  const der = signCertificate(buildTbsCertificate(late, subjectKey, issuer, serial), issuer);
  t.is(new X509Certificate(der).validTo, 'Jan  1 00:00:00 2051 GMT');
  t.is(readCertificate(der).notAfter, 2_556_144_000);
});

test('a certificate that differs from what was meant is caught', async (t) => {
  const folder = temporaryFolder(t);
  const authority = await makeAuthority(folder);
  const issuer = issuerFromPem(authority.certificatePem, authority.keyPem);
  const other = parseCertificateRequest(requestPem(ecPair(), { commonNames: ['catalog.api'] })).subjectKey;
  const meant = { profile, subjectKey, issuer, serial: serial.toString('hex') };
  const der = signCertificate(buildTbsCertificate(profile, subjectKey, issuer, serial), issuer);
  t.notThrows(() => inspectCertificate(der, meant));
  const endsWithIssuer = { ...meant, issuer: { ...issuer, notAfter: profile.notAfter } };
  t.notThrows(() => inspectCertificate(der, endsWithIssuer), 'a certificate may end with its issuer');
  const wrongs: readonly (readonly [string, typeof meant])[] = [
    ['common name', { ...meant, profile: { ...profile, commonName: 'catalog.apx' } }],
    ['subject', { ...meant, profile: { ...profile, subject: [] } }],
    ['alternative name', { ...meant, profile: { ...profile, altNames: profile.altNames.slice(0, 2) } }],
    [
      'alternative name',
      {
        ...meant,
        profile: { ...profile, altNames: [...profile.altNames, { kind: 'dns', value: 'more.signet.test' }] },
      },
    ],
    ...(
      [
        { kind: 'ip', value: '7f000002' },
        { kind: 'dns', value: '7f000001' },
      ] as const
    ).map((last): [string, typeof meant] => [
      'alternative name',
      { ...meant, profile: { ...profile, altNames: [...profile.altNames.slice(0, 2), last] } },
    ]),
    ['alternative name', { ...meant, profile: { ...profile, altNames: profile.altNames.toReversed() } }],
    ['extension', { ...meant, profile: { ...profile, altNames: [] } }],
    ['extended key usage', { ...meant, profile: { ...profile, usage: 'client' } }],
    ['notAfter', { ...meant, profile: { ...profile, notAfter: now } }],
    ['notAfter', { ...meant, issuer: { ...issuer, notAfter: profile.notAfter - 1 } }],
    ['notBefore', { ...meant, profile: { ...profile, notBefore: now } }],
    ['serial number', { ...meant, serial: '01' }],
    ['public key', { ...meant, subjectKey: other }],
    ['key usage', { ...meant, subjectKey: { ...subjectKey, kind: 'rsa' } }],
    ['issuer', { ...meant, issuer: { ...issuer, name: Buffer.of(0x30, 0) } }],
    ['authority key identifier', { ...meant, issuer: { ...issuer, keyIdentifier: Buffer.alloc(20) } }],
  ];
  for (const [what, wrong] of wrongs) {
    const error = t.throws(() => inspectCertificate(der, wrong), { instanceOf: CertificateMismatchError });
    t.true(error.message.endsWith(`a wrong ${what}`), error.message);
  }
  const text = der.toString('hex');
  const algorithm = '06082a8648ce3d0403';
  const spoilt: readonly (readonly [what: string, from: string, to: string, last?: true])[] = [
    ['algorithm', `${algorithm}02`, `${algorithm}03`],
    ['algorithm', `${algorithm}02`, `${algorithm}03`, true],
    ['basic constraint', '0603551d130101ff04023000', '0603551d130101ff04020500'],
    ['key usage', '0603551d0f0101ff040403020780', '0603551d0f0101ff040403020640'],
    ['extended key usage', `${oids.serverAuth.hex}06082b06010505070302`, `${oids.serverAuth.hex}06082b06010505070304`],
    ['subject key identifier', subjectKey.keyIdentifier.toString('hex'), '00'.repeat(20)],
    ['authority key identifier', issuer.keyIdentifier.toString('hex'), '00'.repeat(20)],
  ];
  for (const [what, from, to, last] of spoilt) {
    const at = last ? text.lastIndexOf(from) : text.indexOf(from);
    t.true(at > 0, `${what}: ${from} in ${text}`);
    const wrong = Buffer.from(text.slice(0, at) + to + text.slice(at + from.length), 'hex');
    const error = t.throws(() => inspectCertificate(wrong, meant), { instanceOf: CertificateMismatchError });
    t.true(error.message.endsWith(`a wrong ${what}`), error.message);
  }
});

test('a list of 20,000 revoked certificates takes well under five seconds, and lets others have their turns', async (t) => {
  const folder = temporaryFolder(t);
  const authority = await makeAuthority(folder);
  const issuer = issuerFromPem(authority.certificatePem, authority.keyPem);
  const revoked = Array.from({ length: 20_000 }, (_, i) => ({
    serial: (2n ** 126n + BigInt(i)).toString(16),
    revokedAt: now - i,
    reason: 'cessation-of-operation' as const,
  }));
  const start = process.cpuUsage();
  const turns = countTurns();
  const crl = await buildCrl(issuer, { revoked, number: 7n, thisUpdate: now, nextUpdate: now + 3600 });
  t.true(turns() >= 39);
  t.true(process.cpuUsage(start).user < 5_000_000, 'microseconds of processor time');
  writeFileSync(join(folder, 'list.pem'), await crlToPem(crl));
  const text = await openssl(folder, 'crl', '-in', 'list.pem', '-noout', '-text', '-CAfile', 'test.ca.pem');
  t.is(text.output.match(/Serial Number/g)?.length, 20_000);
  t.true(text.output.includes('verify OK'));
});

test('an issuer with the key of another, with a chain out of order or with a leaf in place of it is refused', async (t) => {
  const folder = temporaryFolder(t);
  const one = await makeAuthority(folder, 'P-256', 'one');
  const two = await makeAuthority(folder, 'P-256', 'two');
  t.throws(() => issuerFromPem(one.certificatePem, two.keyPem), {
    message: 'its private key is not the one of its certificate',
  });
  t.throws(() => issuerFromPem(one.certificatePem + two.rootPem, one.keyPem), { message: /its chain is not in order/ });
  t.throws(() => issuerFromPem('', one.keyPem), { message: /no certificate/ });
  t.throws(() => issuerFromPem(one.certificatePem, 'x'), { message: 'its private key cannot be read' });
  const issuer = issuerFromPem(one.certificatePem, one.keyPem);
  const der = signCertificate(buildTbsCertificate(profile, subjectKey, issuer, serial), issuer);
  const leafKey = pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  t.throws(() => issuerFromPem(certificateToPem(der), leafKey), { message: /not an authority/ });
  t.is(issuerFromPem(one.certificatePem + one.rootPem, one.keyPem).chainPem, one.certificatePem);
});

test('serial numbers are of one length, positive, and later ones are greater, but for once in 34 years', (t) => {
  const random = Buffer.alloc(serialRandomOctets, 0xff);
  const at = (seconds: number) => serialFrom(seconds, random).toString('hex');
  const times = [
    0, 1, 1_700_000_000, 1_700_000_000.001, 1_700_000_000.999, 2_147_483_647, 2_147_483_648, 4_000_000_000,
  ];
  t.deepEqual(
    times.map(at),
    [
      '400000000000',
      '400000010000',
      '6553f1000000',
      '6553f1000041',
      '6553f100ffbe',
      '7fffffff0000',
      '400000000000',
      '6e6b28000000',
    ].map((time) => time + 'ff'.repeat(10)),
  );
});
