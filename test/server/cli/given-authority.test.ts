import 'reflect-metadata';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KeyUsageFlags, KeyUsagesExtension } from '@peculiar/x509';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { readAuthority } from '@signet/server/cli/init/given-authority';
import { type InitialiseOptions, initialise } from '@signet/server/cli/initialise';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { encryptPrivateKey } from '@signet/server/x509/encrypted-key';
import test, { type ExecutionContext } from 'ava';
import { type CertificateWish, type MadeCertificate, makeCertificate } from '#support/certificate-maker';
import { openssl } from '#support/openssl';
import { temporaryFolder } from '#support/temp';
import { refusal } from '../../limits/row.ts';

/* A server that issues with an authority that was there before. */

const now = systemClock.now();
const hour = 3_600_000;
const usage = (flags: number) => [new KeyUsagesExtension(flags, true)];
const extensions = usage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign);
const make = (name: string, wish: Partial<CertificateWish> = {}) =>
  makeCertificate({ name, isAuthority: true, now, extensions, ...wish });

const root = await make('Root');
const issuer = await make('Issuer', { issuer: root });
const upper = await make('Upper', { issuer: root });
const lower = await make('Lower', { issuer: upper });
const stranger = await make('Stranger');
const clientOnly = await make('Issuer', { issuer: root, usages: ['1.3.6.1.5.5.7.3.2'] });
const anything = await make('Issuer', { issuer: root, usages: ['2.5.29.37.0'] });
const expired = await make('Issuer', { issuer: root, notBefore: now - 2 * hour, notAfter: now - hour });
const early = await make('Issuer', { issuer: root, notBefore: now + hour, notAfter: now + 2 * hour });
const noLists = await make('Issuer', { issuer: root, extensions: usage(KeyUsageFlags.keyCertSign) });
const leaf = await make('Issuer', { issuer: root, isAuthority: false });
const endedRoot = await make('Root', { notAfter: now - 1000 });
const belowEnded = await make('Issuer', { issuer: endedRoot });

/** Its intermediate may have no authority below it, and certifies `corp.example` alone. */
const names = { dns: ['corp.example'], uri: ['corp.example'], email: [], ip: [] };
const own = await createAuthorities(systemClock, { trustDomain: 'corp.example', names });
const made = ({ certificate, key, signingKey }: (typeof own)['root']): MadeCertificate => ({
  certificate: new X509Certificate(certificate),
  pem: certificate,
  key,
  keys: { publicKey: root.keys.publicKey, privateKey: signingKey },
});
const [ownRoot, constrained] = [made(own.root), made(own.intermediate)];
const belowConstrained = await make('Below', { issuer: constrained });

interface Texts {
  readonly root?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly mode?: number;
}

function filesOf(t: ExecutionContext, texts: Texts) {
  const folder = temporaryFolder(t);
  const put = (name: string, text: string, mode = 0o644) => {
    writeFileSync(join(folder, name), text, { mode });
    return join(folder, name);
  };
  return {
    root: put('root', texts.root ?? root.pem),
    issuerCert: put('cert', texts.cert ?? issuer.pem),
    issuerKey: put('key', texts.key ?? issuer.key, texts.mode ?? 0o600),
  };
}

const encrypted = encryptPrivateKey(createPrivateKey(issuer.key), 'correct horse battery');
const of = (one: MadeCertificate, ...above: readonly MadeCertificate[]): Texts => ({
  cert: [one, ...above].map(({ pem }) => pem).join(''),
  key: one.key,
});
const read = (t: ExecutionContext, texts: Texts) => readAuthority(filesOf(t, texts), undefined, systemClock);

for (const [note, texts] of [
  ['below its root', {}],
  ['two below its root', of(lower, upper)],
  ['with its root behind it', of(issuer, root)],
  ['for any extended usage', of(anything)],
] as const) {
  test(`an issuing authority is taken: ${note}`, (t) => {
    t.is(read(t, texts).root.trim(), root.pem.trim());
  });
}

const refused: readonly (readonly [note: string, texts: Texts, says: RegExp])[] = [
  ['a root itself', of(root), /it is a root: a root key must not be on a server/],
  ['without those between', of(lower), /its chain does not reach the root/],
  ['of another root', { root: stranger.pem }, /its chain does not reach the root/],
  ['in the wrong order', { cert: upper.pem + lower.pem, key: upper.key }, /its chain is not in order/],
  ['with the key of another', { key: lower.key }, /private key is not the one of its certificate/],
  ['that is a leaf', of(leaf), /a certificate that is not an authority/],
  ['that has expired', of(expired), /`CN=Issuer` has expired/],
  ['that has not begun', of(early), /`CN=Issuer` is not valid yet/],
  ['whose root has expired', { root: endedRoot.pem, ...of(belowEnded) }, /`CN=Root` has expired/],
  ['that may not sign revocation lists', of(noLists), /lacks the key usage cRLSign/],
  ['for clients alone', of(clientOnly), /an extended key usage without serverAuth or clientAuth/],
  [
    'deeper than an authority above allows',
    { root: ownRoot.pem, ...of(belowConstrained, constrained) },
    /`CN=Signet Intermediate CA, O=Signet` allows fewer authorities below it|`O=Signet, CN=Signet Intermediate CA` allows/,
  ],
  ['with an encrypted key', { key: encrypted }, /is encrypted, but a server cannot prompt for a passphrase/],
  ['with a key that others can read', { mode: 0o644 }, /--issuer-key: .* can be read by others: its mode must be 0600/],
  ['with something else as its key', { key: issuer.pem }, /--issuer-key: .* is not a private key, PEM/],
  [
    'with the key of the root',
    { root: root.pem + root.key },
    /--root contains a private key: use a file with the certificate only/,
  ],
  ['with two roots', { root: root.pem + stranger.pem }, /--root must contain one certificate/],
  ['with no root', { root: 'x' }, /--root must contain one certificate/],
  ['without a certificate', { cert: 'x' }, /--issuer-cert `.*`: there is no certificate in PEM form/],
];
for (const [note, texts, says] of refused) {
  test(`an issuing authority is refused: ${note}`, async (t) => {
    t.regex(await refusal(() => read(t, texts)), says);
  });
}

test('a file that is not there is named with its option', async (t) => {
  const files = { ...filesOf(t, {}), root: '/nowhere' };
  t.regex(
    await refusal(() => readAuthority(files, undefined, systemClock)),
    /^--root `\/nowhere` cannot be read \(ENOENT\)$/,
  );
});

const usual = { host: '127.0.0.1', port: 4443, hosts: [], identities: [], actor: 'local:test' };

test('a server is made with it: openssl verifies its certificates, and the key of the root is nowhere', async (t) => {
  const folder = join(temporaryFolder(t), 'server');
  const administrator = parsePrincipalName('user.jane');
  const trustDomain = parseDomainName('corp.example');
  const options: InitialiseOptions = { ...usual, folder, trustDomain, administrator };
  const done = await initialise({ ...options, authority: read(t, of(lower, upper)) }, systemClock);
  t.deepEqual(done.root, { fingerprint: root.certificate.fingerprint256 });
  t.false(existsSync(join(folder, 'ca/root.key.pem')));
  t.false(readFileSync(done.config, 'utf8').includes('crl:'), 'the list of the root is not here either');
  for (const [file, purpose] of [
    ['server.cert.pem', 'sslserver'],
    ['identities/user.jane.cert.pem', 'sslclient'],
  ] as const) {
    const chain = ['-CAfile', 'ca/bundle.pem', '-untrusted', file, file];
    t.is((await openssl(folder, 'verify', '-purpose', purpose, ...chain)).output, `${file}: OK\n`);
  }
});

test('names outside of its constraints are refused before anything is made; those of this machine are left out', async (t) => {
  const authority = read(t, { root: ownRoot.pem, ...of(constrained) });
  const folder = join(temporaryFolder(t), 'server');
  const corp = parseDomainName('corp.example');
  const options: InitialiseOptions = {
    ...usual,
    folder,
    trustDomain: corp,
    authority,
    administrator: parsePrincipalName('user.jane'),
  };
  for (const [change, outside] of [
    [{}, 'localhost'],
    [{ baseUrl: 'https://signet.example.com/v1' }, 'signet.example.com'],
    [{ hosts: ['signet.corp.example', 'b.example.com'] }, 'b.example.com'],
    [{ hosts: ['signet.corp.example'], trustDomain: parseDomainName('other.example') }, 'spiffe://other.example/'],
  ] as const) {
    const said = await refusal(() => initialise({ ...options, ...change }, systemClock));
    t.true(said.startsWith(`\`${outside}`), said);
    t.regex(
      said,
      /is outside of the name constraints .*: choose --base-url, --host-name and --trust-domain within them$/,
    );
    t.false(existsSync(folder));
  }
  await initialise({ ...options, hosts: ['signet.corp.example'] }, systemClock);
  const chain = ['-CAfile', 'ca/bundle.pem', '-untrusted', 'server.cert.pem', 'server.cert.pem'];
  t.is((await openssl(folder, 'verify', '-x509_strict', ...chain)).output, 'server.cert.pem: OK\n');
  const { subjectAltName } = new X509Certificate(readFileSync(join(folder, 'server.cert.pem')));
  t.regex(
    subjectAltName ?? '',
    /^URI:spiffe:\/\/corp\.example\/ns\/default\/sa\/sys\.auth\.server, (?!.*localhost).*DNS:signet\.corp\.example$/,
  );
});
