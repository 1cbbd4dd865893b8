import { signetForms } from '@signet/server/x509/name-forms';
import 'reflect-metadata';
import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';
import { toDate } from '@signet/policy-engine/clock';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import type { Issuer } from '@signet/server/x509/issuer';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { renewServerCertificate } from '@signet/server/x509/renew-server-certificate';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { temporaryFolder } from '#support/temp';

/* Renewal of server certificates, and the names of the new one. */

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const clock = new FakeClock();
const made = async () => {
  const { intermediate } = await createAuthorities(clock);
  return { ...intermediate, issuer: issuerFromPem(intermediate.certificate, intermediate.key) };
};
const [ours, other, stranger] = [await made(), await made(), await made()];

interface Wish {
  readonly by?: typeof ours;
  readonly subject?: string;
  readonly altNames?: readonly x509.GeneralName[];
  readonly active?: readonly Issuer[];
  readonly draining?: readonly Issuer[];
  /** Number of servers that share the files. */
  readonly servers?: number;
}

/** The alternative names of what a certificate of this kind is replaced by. */
async function renew(t: ExecutionContext, wish: Wish): Promise<string | undefined> {
  const {
    by = ours,
    subject = 'CN=sys.auth.server',
    altNames = [],
    active = [ours.issuer],
    draining = [],
    servers = 1,
  } = wish;
  const folder = temporaryFolder(t);
  const files = { certificate: join(folder, 'server.cert.pem'), key: join(folder, 'server.key.pem') };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const old = await x509.X509CertificateGenerator.create({
    subject,
    issuer: by.parsed.subject,
    notBefore: toDate(clock.now() - 1000),
    notAfter: toDate(clock.now() + 86_400_000),
    publicKey: keys.publicKey,
    signingKey: by.signingKey,
    signingAlgorithm: algorithm,
    extensions: altNames.length === 0 ? [] : [new x509.SubjectAlternativeNameExtension([...altNames])],
  });
  writeFileSync(files.certificate, old.toString('pem'));
  writeFileSync(files.key, 'the key of before');
  const confirmed: string[] = [];
  const certificates = {
    intend: async () => undefined,
    confirm: async (serial: string) => void confirmed.push(serial),
  };
  const issuers = { signing: () => ours.issuer, current: () => ({ active, draining, rootsPem: '' }) };
  const rules = { trustDomain: 'signet.test', dnsSuffix: 'signet.test', forms: signetForms };
  try {
    const deps = { files, issuers, rules, certificates, clock, randomBytes };
    await Promise.all(Array.from({ length: servers }, () => renewServerCertificate(deps as never)));
  } catch (error) {
    t.is(readFileSync(files.certificate, 'utf8'), old.toString('pem'));
    t.is(readFileSync(files.key, 'utf8'), 'the key of before');
    t.deepEqual(confirmed, []);
    throw error;
  }
  const leaf = new X509Certificate(readFileSync(files.certificate));
  t.is(leaf.subject, 'CN=sys.auth.server');
  t.true(leaf.checkPrivateKey(createPrivateKey(readFileSync(files.key, 'utf8'))));
  t.is(confirmed.length, servers);
  t.true(confirmed.includes(leaf.serialNumber.toLowerCase()));
  return leaf.subjectAltName;
}

const id = 'URI:spiffe://signet.test/ns/default/sa/sys.auth.server';
const name = (kind: x509.GeneralNameType, value: string) => new x509.GeneralName(kind, value);
const dns = name('dns', 'signet.example.com');

const renewed: [note: string, wish: Wish, names: string][] = [
  ['without names', {}, id],
  [
    'with host names and addresses',
    { altNames: [dns, name('ip', '10.0.0.1')] },
    `${id}, DNS:signet.example.com, IP Address:10.0.0.1`,
  ],
  [
    'with the id of another',
    { altNames: [name('url', 'spiffe://other.test/ns/default/sa/a.b'), dns] },
    `${id}, DNS:signet.example.com`,
  ],
  ['by one of several issuers', { active: [other.issuer, ours.issuer, stranger.issuer] }, id],
  ['by an issuer that is being replaced', { by: other, draining: [other.issuer] }, id],
  ['with more than a common name', { subject: 'O=Signet,CN=sys.auth.server' }, id],
];
for (const [note, wish, names] of renewed) {
  test(`a server certificate ${note} is replaced`, async (t) => {
    t.is(await renew(t, wish), names);
  });
}

test('several servers that replace the same certificate at once end with one and its key', async (t) => {
  for (let round = 0; round < 20; round += 1) t.is(await renew(t, { servers: 4 }), id);
});

const notOurs = 'the server certificate is by none of the configured issuers';
const notOneName = 'the server certificate has not exactly one common name';
const refused: [note: string, wish: Wish, message: string][] = [
  ['by an issuer that is not configured', { by: stranger, draining: [other.issuer] }, notOurs],
  ['while there is no issuer', { active: [] }, notOurs],
  ['without a common name', { subject: 'O=sys.auth.server' }, notOneName],
  ['with two common names', { subject: 'CN=sys.auth.server,CN=a.b' }, notOneName],
  [
    'with a name of a kind that is not issued',
    { altNames: [dns, name('dn', 'CN=x')] },
    'the server certificate has a name of a kind that is not issued',
  ],
];
for (const [note, wish, message] of refused) {
  test(`a server certificate ${note} is left as it is`, async (t) => {
    await t.throwsAsync(renew(t, wish), { message });
  });
}
