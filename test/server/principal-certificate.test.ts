import 'reflect-metadata';
import { X509Certificate } from 'node:crypto';
import * as x509 from '@peculiar/x509';
import { sequence, set } from '@signet/policy-engine/internal/der';
import { type Principal, readClientCertificate } from '@signet/server/principals/principal';
import { buildTbsCertificate, serialFrom, signCertificate } from '@signet/server/x509/build-certificate';
import type { CertificateUsage } from '@signet/server/x509/certificate-profile';
import { relativeName } from '@signet/server/x509/distinguished-name';
import type { Issuer } from '@signet/server/x509/issuer';
import { oids } from '@signet/server/x509/oids';
import { parseSubjectKey } from '@signet/server/x509/subject-key';
import test from 'ava';
import { makeCertificate } from '#support/certificate-maker';
import { commonName, ecPair } from '#support/requests';

/* Principal of a certificate, by certificates that TLS would accept. */

const pair = ecPair();
const subjectKey = parseSubjectKey(pair.publicKey.export({ type: 'spki', format: 'der' }));
const issuer = {
  name: sequence(commonName('Test CA')),
  keyIdentifier: Buffer.alloc(20, 1),
  distributionPoints: [],
  kind: 'P-256',
  privateKey: pair.privateKey,
} as unknown as Issuer;
const [notBefore, issuedAt, notAfter] = [1_767_222_000, 1_767_225_600, 1_767_312_000];

function certificate(subject: readonly Buffer[], usage: CertificateUsage = 'client'): X509Certificate {
  const profile = { kind: 'service', commonName: '', subject, altNames: [], usage, notBefore, notAfter } as const;
  const serial = serialFrom(issuedAt, Buffer.alloc(12, 0xab));
  return new X509Certificate(signCertificate(buildTbsCertificate(profile, subjectKey, issuer, serial), issuer));
}

/** The kind of principal and its name, or the fault. */
function outcome(read: X509Certificate): string {
  const found = readClientCertificate(read);
  return typeof found === 'string' ? found : `${found.principal.kind} ${found.principal.name}`;
}

const names: readonly (readonly [name: string, outcome: string])[] = [
  ['media.player', 'identity media.player'],
  ['media.video.player', 'identity media.video.player'],
  ['Media.Player', 'identity media.player'],
  ['user.joe', 'identity user.joe'],
  ['catalog:role.reader', 'role catalog:role.reader'],
  ['Catalog:role.Reader', 'role catalog:role.reader'],
  ['catalog:role.', 'name'],
  ['catalog:group.reader', 'name'],
  ['catalog:abcd.reader', 'name'],
  ['catalog:', 'name'],
  [':role.reader', 'name'],
  ['player', 'name'],
  ['.player', 'name'],
  ['media.', 'name'],
  ['media.pl yer', 'name'],
  ['', 'name'],
];
for (const [name, expected] of names) {
  test(`a client certificate named \`${name}\``, (t) => t.is(outcome(certificate([commonName(name)])), expected));
}

test('all that is read of a certificate', (t) => {
  const read = certificate([commonName('media.player')]);
  const principal: Partial<Principal> = {
    kind: 'identity',
    thumbprint: Buffer.from(read.fingerprint256.replaceAll(':', ''), 'hex').toString('base64url'),
  };
  t.like(readClientCertificate(read), {
    principal,
    notBefore: notBefore * 1000,
    notAfter: notAfter * 1000,
    issuedAt: issuedAt * 1000,
    serial: read.serialNumber.toLowerCase(),
  });
});

const organization = relativeName(oids.organization, 'media.admin');
const teletex = set(sequence(oids.commonName.der, Buffer.concat([Buffer.of(0x14, 12), Buffer.from('media.player')])));
const others: readonly (readonly [note: string, read: X509Certificate, outcome: string])[] = [
  ['for clients and servers', certificate([commonName('media.player')], 'both'), 'identity media.player'],
  ['for servers', certificate([commonName('media.player')], 'server'), 'usage'],
  [
    'with an organization beside its name',
    certificate([organization, commonName('media.player')]),
    'identity media.player',
  ],
  ['without a common name', certificate([organization]), 'subject'],
  ['without a subject', certificate([]), 'subject'],
  ['with two common names', certificate([commonName('media.player'), commonName('media.admin')]), 'subject'],
  ['with the same common name twice', certificate([commonName('media.player'), commonName('media.player')]), 'subject'],
  ['with a name in an encoding of no certain meaning', certificate([teletex]), 'encoding'],
];
for (const [note, read, expected] of others) {
  test(`a client certificate ${note}`, (t) => t.is(outcome(read), expected));
}

const usages = ['1.3.6.1.5.5.7.3.2'];
const signs = new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true);

test('an authority is nobody, also where its key usages do not let it sign certificates', async (t) => {
  const make = async (isAuthority: boolean | 'unsaid', extensions: readonly x509.Extension[] = []) =>
    (await makeCertificate({ name: 'media.player', usages, isAuthority, extensions })).certificate;
  t.is(outcome(await make(true)), 'authority');
  const onlySigns = await make(true, [signs]);
  t.false(onlySigns.ca);
  t.is(outcome(onlySigns), 'authority');
  t.is(outcome(await make(false, [signs])), 'identity media.player');
  t.is(outcome(await make('unsaid', [signs])), 'identity media.player');
});

test('a certificate that says nothing of its use is for nobody', async (t) => {
  t.is(outcome((await makeCertificate({ name: 'media.player' })).certificate), 'usage');
});
