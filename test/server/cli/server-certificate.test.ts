import { execFileSync } from 'node:child_process';
import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parseServiceName } from '@signet/policy-engine/names';
import { initialise } from '@signet/server/cli/initialise';
import { keepServerCertificate } from '@signet/server/cli/keep-server-certificate';
import { loadConfig } from '@signet/server/config/config';
import { watchTlsFiles } from '@signet/server/http/tls-files';
import { createLogger } from '@signet/server/logger';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { serialRandomOctets } from '@signet/server/x509/build-certificate';
import { issueServerCertificate } from '@signet/server/x509/certificate-authority';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { loadAuthority } from '@signet/server/x509/load-authority';
import { buildIntermediate, namesOfAuthority, newAuthorityKey } from '@signet/server/x509/new-authority';
import { settleServerKey, writeWaitingKey } from '@signet/server/x509/waiting-server-key';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { openssl } from '#support/openssl';
import { createPki } from '#support/pki';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

const day = 86_400_000;
const textOf = (file: string) => readFileSync(file, 'utf8');

/** Folder of a server that was set up `daysAgo`, and the renewal of its certificate. */
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
    t.deepEqual(waitingIn(folder), [textOf(at('server.key.pem'))], 'for a server that shares the files');
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

/** Keys that wait beside the one in use. */
function waitingIn(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.startsWith('server.key.pem.'));
  return names.map((name) => textOf(join(folder, name)));
}

/** Two servers that share files: what each makes when it replaces their certificate. */
async function sharedFiles(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const files = { certificate: join(folder, 'server.cert.pem'), key: join(folder, 'server.key.pem') };
  const pki = await createPki();
  const make = async () => {
    const { certificate, key } = await pki.server();
    return {
      key,
      wait: () => writeWaitingKey(files, createPrivateKey(key)),
      putCertificate: () => writeFileSync(files.certificate, certificate),
    };
  };
  const [before, one, other] = [await make(), await make(), await make()];
  before.putCertificate();
  writeFileSync(files.key, before.key);
  return {
    folder,
    before,
    one,
    other,
    inUse: () => textOf(files.key),
    settle: () => settleServerKey(files, systemClock.now()),
    files,
  };
}

test('a renewal that was cut off is ended, or revoked', async (t) => {
  const { folder, before, one, other, inUse, settle } = await sharedFiles(t);
  await settle();
  t.is(inUse(), before.key, 'where nothing waits');

  await one.wait();
  await settle();
  t.is(inUse(), before.key, 'killed before the new certificate was written');

  one.putCertificate();
  await settle();
  t.is(inUse(), one.key, 'killed after it');

  await other.wait();
  await settle();
  t.is(inUse(), one.key);
  t.deepEqual(waitingIn(folder).toSorted(), [one.key, other.key].toSorted());
});

test('a key that is missing is there again when it waits', async (t) => {
  const { files, one, inUse, settle } = await sharedFiles(t);
  await one.wait();
  one.putCertificate();
  rmSync(files.key);
  await settle();
  t.is(inUse(), one.key);
});

test('of two servers that share the files, whichever certificate is in place has its key', async (t) => {
  const { one, other, inUse, settle } = await sharedFiles(t);
  await one.wait();
  await settle();
  await other.wait();
  other.putCertificate();
  await settle();
  t.is(inUse(), other.key);
  one.putCertificate();
  await settle();
  t.is(inUse(), one.key, 'the one that stood still meanwhile');
  other.putCertificate();
  await settle();
  t.is(inUse(), other.key);
});

test('a certificate that another server puts in place while the key is put into use counts', async (t) => {
  const { folder, one, other, inUse, settle } = await sharedFiles(t);
  await one.wait();
  one.putCertificate();
  const [waiting = ''] = readdirSync(folder).filter((name) => name.startsWith('server.key.pem.'));
  rmSync(join(folder, waiting));
  execFileSync('mkfifo', [join(folder, waiting)]);

  const settling = settle();
  // Opens once the other end is read: the certificate has been read then.
  const pipe = await open(join(folder, waiting), 'w');
  await other.wait();
  other.putCertificate();
  await settle();
  t.is(inUse(), other.key);
  await pipe.writeFile(one.key);
  await pipe.close();
  await settling;
  t.is(inUse(), other.key);
});

test('a key waits for a day, readable by the owner only', async (t) => {
  const { folder, one, other, files, inUse } = await sharedFiles(t);
  await one.wait();
  await other.wait();
  const written = 1_700_000_000;
  for (const name of readdirSync(folder)) {
    if (name.startsWith('server.key.pem.')) t.is(statSync(join(folder, name)).mode & 0o777, 0o600);
    utimesSync(join(folder, name), written, written);
  }
  await settleServerKey(files, written * 1000 + day);
  t.is(waitingIn(folder).length, 2);
  one.putCertificate();
  await settleServerKey(files, written * 1000 + day + 1);
  t.deepEqual([waitingIn(folder), inUse()], [[], one.key], 'it is put into use before it is removed');
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
    // The first check is not observable: swap until a change is noticed.
    put(`v${++version}`);
    return new Promise<boolean>((resolve) => setTimeout(() => resolve(taken.length > 0), 1500));
  });
  await until('the last one is in use', () => taken.at(-1) === `v${version}`);
  t.pass();
});
