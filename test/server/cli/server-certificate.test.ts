import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parseServiceName } from '@signet/policy-engine/names';
import { initialise } from '@signet/server/cli/initialise';
import { keepServerCertificate } from '@signet/server/cli/keep-server-certificate';
import { loadConfig } from '@signet/server/config/config';
import { createLogger } from '@signet/server/logger';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { watchTlsFiles } from '@signet/server/tls-files';
import { serialRandomOctets } from '@signet/server/x509/build-certificate';
import { issueServerCertificate } from '@signet/server/x509/certificate-authority';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { loadAuthority } from '@signet/server/x509/load-authority';
import { buildIntermediate, namesOfAuthority, newAuthorityKey } from '@signet/server/x509/new-authority';
import { settleServerKey } from '@signet/server/x509/renew-server-certificate';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { openssl } from '#support/openssl';
import { createPki } from '#support/pki';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

const day = 86_400_000;
const textOf = (file: string) => readFileSync(file, 'utf8');

/** A server's folder that was made so many days ago, and what looks after its certificate. */
async function world(t: ExecutionContext, daysAgo: number) {
  const folder = join(temporaryFolder(t), 'server');
  const hosts = { host: '127.0.0.1', port: 0, hosts: ['signet.example.com'] };
  const trustDomain = parseDomainName('signet.test');
  const made = new FakeClock(systemClock.now() - daysAgo * day);
  await initialise({ folder, ...hosts, trustDomain, identities: [], actor: 'test' }, made);
  const at = (...parts: string[]) => join(folder, ...parts);
  const log: { level: string; msg: string }[] = [];
  const keep = async (flags: Record<string, unknown> = {}) => {
    const config = loadConfig(at('signet.yaml'), {}, flags);
    const logger = createLogger('info', { write: (line: string) => void log.push(JSON.parse(line)) });
    (await keepServerCertificate(config, logger))[Symbol.dispose]();
    return log.map(({ level, msg }) => `${level}: ${msg}`);
  };
  const leaf = () => new X509Certificate(readFileSync(at('server.cert.pem')));
  return { folder, at, keep, leaf };
}

test('a server certificate by an issuer that is draining is replaced by one of the issuer that signs', async (t) => {
  const { folder, at, keep, leaf } = await world(t, 10);
  const serial = () => leaf().serialNumber;
  const before = serial();
  t.deepEqual(await keep(), []);
  const root = issuerFromPem(textOf(at('ca/root.cert.pem')), textOf(at('ca/root.key.pem')));
  const { key, pem } = newAuthorityKey();
  const names = namesOfAuthority(textOf(at('ca/intermediate.cert.pem')));
  const order = { now: epochSeconds(systemClock), days: 100, random: randomBytes(serialRandomOctets) };
  writeFileSync(at('ca/next.cert.pem'), buildIntermediate(root, key, names, order));
  writeFileSync(at('ca/next.key.pem'), pem, { mode: 0o600 });
  const issuers = [
    { certificate: 'ca/next.cert.pem', key: 'ca/next.key.pem' },
    { certificate: 'ca/intermediate.cert.pem', key: 'ca/intermediate.key.pem', state: 'draining' },
  ];
  t.deepEqual(await keep({ 'certificates.issuers': issuers, 'tls.renew': false }), [], 'not where somebody else does');
  t.is(serial(), before);
  const renewed = 'info: server certificate renewed';
  t.deepEqual(await keep({ 'certificates.issuers': issuers }), [renewed]);
  t.true(leaf().verify(new X509Certificate(textOf(at('ca/next.cert.pem'))).publicKey));
  const verify = ['verify', '-x509_strict', '-CAfile', 'ca/bundle.pem', '-untrusted', 'server.cert.pem'];
  t.is((await openssl(folder, ...verify, 'server.cert.pem')).output, 'server.cert.pem: OK\n');
  t.deepEqual(await keep({ 'certificates.issuers': issuers }), [renewed], 'once');
});

for (const [name, daysAgo] of [
  ['in the last third of its life', 300],
  ['that has ended', 400],
] as const) {
  test(`a server certificate ${name} is replaced, with the same names`, async (t) => {
    const { folder, at, keep, leaf } = await world(t, daysAgo);
    const before = leaf();
    t.deepEqual(await keep(), ['info: server certificate renewed']);
    const after = leaf();
    t.not(after.serialNumber, before.serialNumber);
    t.deepEqual([after.subject, after.subjectAltName], [before.subject, before.subjectAltName]);
    t.true(after.subjectAltName?.startsWith('URI:spiffe://signet.test/ns/default/sa/sys.auth.server, DNS:localhost'));
    t.true(after.validToDate.getTime() - systemClock.now() > 364 * day);
    t.true(after.checkPrivateKey(createPrivateKey(readFileSync(at('server.key.pem'), 'utf8'))));
    t.false(existsSync(at('server.key.pem.next')));
    const verify = ['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', 'ca/bundle.pem'];
    const { ok, output } = await openssl(folder, ...verify, '-untrusted', 'server.cert.pem', 'server.cert.pem');
    t.true(ok, output);
    const store = await openSqliteStore(at('data', 'signet.db'));
    t.teardown(() => store.close());
    t.like(await store.certificates.find(after.serialNumber.toLowerCase()), { state: 'issued', kind: 'service' });
    t.deepEqual(await keep(), ['info: server certificate renewed'], 'and then left alone');
  });
}

test('a renewed certificate holds the id of the token server and no other, whatever the one before held', async (t) => {
  const { at, keep, leaf } = await world(t, 300);
  const authority = await loadAuthority(at('ca', 'intermediate.cert.pem'), at('ca', 'intermediate.key.pem'));
  const other = { domain: parseDomainName('media'), service: parseServiceName('player'), trustDomain: 'other.test' };
  const old = new FakeClock(systemClock.now() - 300 * day);
  const { certificate, key } = await issueServerCertificate(authority, { ...other, hosts: ['localhost'] }, 365, old);
  writeFileSync(at('server.cert.pem'), certificate);
  writeFileSync(at('server.key.pem'), key);
  t.deepEqual(await keep(), ['info: server certificate renewed']);
  t.is(leaf().subjectAltName, 'URI:spiffe://signet.test/ns/default/sa/sys.auth.server, DNS:localhost');
});

test('a certificate that was issued by a clock far ahead, and has not begun, is replaced', async (t) => {
  const { at, keep, leaf } = await world(t, 0);
  const authority = await loadAuthority(at('ca', 'intermediate.cert.pem'), at('ca', 'intermediate.key.pem'));
  const ahead = new FakeClock(systemClock.now() + 200 * day);
  const name = { domain: parseDomainName('sys.auth'), service: parseServiceName('server'), trustDomain: 'signet.test' };
  const { certificate, key } = await issueServerCertificate(authority, { ...name, hosts: ['localhost'] }, 365, ahead);
  writeFileSync(at('server.cert.pem'), certificate);
  writeFileSync(at('server.key.pem'), key);
  t.deepEqual(await keep(), ['info: server certificate renewed']);
  t.true(leaf().validFromDate.getTime() < systemClock.now());
});

test('a certificate that is far from its end is left alone', async (t) => {
  const { keep, leaf } = await world(t, 100);
  const before = leaf().serialNumber;
  t.deepEqual(await keep(), []);
  t.is(leaf().serialNumber, before);
});

test('without tls.renew a warning says that the end is near', async (t) => {
  const { keep, leaf } = await world(t, 300);
  const before = leaf().serialNumber;
  const warning = 'warn: server certificate is near or past its end, and not renewed by the server';
  t.deepEqual(await keep({ 'tls.renew': false }), [warning]);
  t.is(leaf().serialNumber, before);
});

test('a failure is said, and changes nothing', async (t) => {
  const failed = 'error: server certificate cannot be looked after, tried again later';
  const stranger = await createPki(new FakeClock(systemClock.now() - 300 * day));
  const { at, keep } = await world(t, 300);
  const { certificate, key } = await stranger.server();
  writeFileSync(at('server.cert.pem'), certificate);
  writeFileSync(at('server.key.pem'), key);
  t.deepEqual(await keep(), [failed], 'another authority issued it');
  t.is(readFileSync(at('server.cert.pem'), 'utf8'), certificate);

  const other = await world(t, 300);
  const before = other.leaf().serialNumber;
  renameSync(other.at('ca', 'intermediate.key.pem'), other.at('away.pem'));
  t.deepEqual(await other.keep(), [failed], 'the key of the issuer is away');
  writeFileSync(other.at('server.cert.pem.bak'), readFileSync(other.at('server.cert.pem')));
  writeFileSync(other.at('server.cert.pem'), 'half');
  t.deepEqual(await other.keep(), [failed, failed], 'the certificate cannot be read');
  renameSync(other.at('server.cert.pem.bak'), other.at('server.cert.pem'));
  t.is(other.leaf().serialNumber, before);
});

test('a renewal that was cut off is ended, or revoked', async (t) => {
  const { at } = await world(t, 0);
  const files = { certificate: at('server.cert.pem'), key: at('server.key.pem') };
  const key = readFileSync(files.key, 'utf8');
  const { key: other } = await (await createPki()).server();

  // Killed after the new certificate was written: its key lies beside the old one.
  writeFileSync(files.key, other);
  writeFileSync(`${files.key}.next`, key);
  await settleServerKey(files);
  t.deepEqual([readFileSync(files.key, 'utf8'), existsSync(`${files.key}.next`)], [key, false]);

  // Killed before.
  writeFileSync(`${files.key}.next`, other);
  await settleServerKey(files);
  t.deepEqual([readFileSync(files.key, 'utf8'), existsSync(`${files.key}.next`)], [key, false]);
});

test('files behind a link that is swapped are taken into use', async (t) => {
  const folder = temporaryFolder(t);
  const put = (version: string) => {
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, 'cert.pem'), version);
    symlinkSync(version, join(folder, 'new'));
    renameSync(join(folder, 'new'), join(folder, 'current'));
  };
  put('v1');
  symlinkSync('current/cert.pem', join(folder, 'cert.pem'));
  const taken: string[] = [];
  const watch = watchTlsFiles({
    files: [join(folder, 'cert.pem')],
    reload: () => void taken.push(readFileSync(join(folder, 'cert.pem'), 'utf8')),
    logger: createLogger('silent', { write: () => undefined }),
  });
  t.teardown(() => watch.close());
  let version = 1;
  await until('a swap is noticed', () => {
    // Whether the first look has been taken is not told: swap until one is noticed.
    put(`v${++version}`);
    return new Promise<boolean>((resolve) => setTimeout(() => resolve(taken.length > 0), 1500));
  });
  await until('the last one is in use', () => taken.at(-1) === `v${version}`);
  t.pass();
});
