import { randomBytes } from 'node:crypto';
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { epochSeconds, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { readIssuers } from '@signet/server/cli/ca/configured-issuers';
import { listIssuers, retire } from '@signet/server/cli/ca/retire';
import { rollOver } from '@signet/server/cli/ca/rollover';
import { initialise } from '@signet/server/cli/initialise';
import { loadConfig } from '@signet/server/config/config';
import type { CertificateKind } from '@signet/server/model/certificate-store';
import { openStore } from '@signet/server/store/open';
import { serialRandomOctets } from '@signet/server/x509/build-certificate';
import { issueServerCertificate } from '@signet/server/x509/certificate-authority';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { loadAuthority } from '@signet/server/x509/load-authority';
import {
  authorityNames,
  buildIntermediate,
  namesOfAuthority,
  newAuthorityKey,
} from '@signet/server/x509/new-authority';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

const day = 86_400;
const now = () => epochSeconds(systemClock);
const order = (days = 1825) => ({ now: now(), days, random: randomBytes(serialRandomOctets) });

/** A folder of `signet init`, and intermediates that its root makes. */
async function world(t: ExecutionContext) {
  const folder = join(temporaryFolder(t), 'server');
  const options = {
    host: '127.0.0.1',
    port: 0,
    hosts: [],
    trustDomain: parseDomainName('signet.test'),
    identities: [],
    actor: 'test',
  };
  const { config } = await initialise({ folder, ...options }, systemClock);
  const at = (...parts: string[]) => join(folder, ...parts);
  const text = (...parts: string[]) => readFileSync(at(...parts), 'utf8');
  const root = issuerFromPem(text('ca', 'root.cert.pem'), text('ca', 'root.key.pem'));
  const like = namesOfAuthority(text('ca', 'intermediate.cert.pem'));
  const make = (name: string, { names = like, days = 1825 } = {}) => {
    const { key, pem } = newAuthorityKey();
    const files = { certificate: at('ca', `${name}.cert.pem`), key: at('ca', `${name}.key.pem`) };
    writeFileSync(files.certificate, buildIntermediate(root, key, names, order(days)));
    writeFileSync(files.key, pem, { mode: 0o600 });
    return { ...files, id: key.keyIdentifier.toString('hex') };
  };
  const first = issuerFromPem(text('ca', 'intermediate.cert.pem'), text('ca', 'intermediate.key.pem')).id;
  /** A server certificate that an issuer of the folder signs now. */
  const serveWith = async (name: string) => {
    const authority = await loadAuthority(at('ca', `${name}.cert.pem`), at('ca', `${name}.key.pem`));
    const [domain, service] = [parseDomainName('sys.auth'), 'server' as never];
    const identity = { domain, service, trustDomain: 'signet.test', hosts: ['localhost'] };
    writeFileSync(
      at('server.cert.pem'),
      (await issueServerCertificate(authority, identity, 30, systemClock)).certificate,
    );
  };
  return { folder, config, at, text, make, first, serveWith };
}

async function record(config: string, issuer: string, notAfter: number, kind: CertificateKind = 'service') {
  const store = await openStore(loadConfig(config).store);
  const serial = randomBytes(16).toString('hex');
  const holder = parsePrincipalName('media.player');
  await store.certificates.intend({ serial, issuer, kind, subject: holder, holder, notBefore: 0, notAfter }, now());
  await store.certificates.confirm(serial, `sha256-${serial}`);
  await store.close();
}

const states = async (config: string) =>
  listIssuers(await readIssuers(config)).map(({ issuer, state, certificates }) => [issuer, state, certificates]);

test('an authority is prepared, then signs, and the one before is retired when nothing of it is valid', async (t) => {
  const { config, make, first, text, serveWith } = await world(t);
  const before = text('signet.yaml');
  const next = make('next');
  const files = { certificate: next.certificate, key: next.key };
  t.like(await rollOver({ ...files, prepare: true, dryRun: true }, await readIssuers(config)), { issuer: next.id });
  t.is(text('signet.yaml'), before, 'a dry run changes nothing');

  t.like(await rollOver({ ...files, prepare: true }, await readIssuers(config)), {
    issuer: next.id,
    state: 'prepared',
  });
  t.deepEqual(await states(config), [
    [first, 'signing', 0],
    [next.id, 'prepared', 0],
  ]);
  await t.throwsAsync(async () => rollOver({ ...files, prepare: true }, await readIssuers(config)), {
    message: 'the issuer is already configured',
  });

  const ends = now() + 300 * day;
  await record(config, first, ends);
  await record(config, first, now() - 1);
  await record(config, next.id, now() + 400 * day, 'role');
  const rolled = await rollOver(files, await readIssuers(config));
  t.like(rolled, { issuer: next.id, state: 'signing', drainingUntil: formatTimestamp(ends * 1000) });
  t.deepEqual(rolled['draining'], [first]);
  t.deepEqual(await states(config), [
    [next.id, 'signing', 1],
    [first, 'draining', 1],
  ]);
  const { issuers } = loadConfig(config).certificates;
  t.deepEqual(
    issuers.map(({ certificate, state }) => [certificate.endsWith('ca/next.cert.pem'), state]),
    [
      [true, 'active'],
      [false, 'draining'],
    ],
  );
  const changed = text('signet.yaml');
  t.true(changed.includes('    - certificate: ca/next.cert.pem\n      key: ca/next.key.pem\n'), 'relative to the file');
  const others = (yaml: string) => yaml.split('\n').filter((line) => !/ca\/(next|intermediate)\.|draining/.test(line));
  t.deepEqual(others(changed), others(before), 'and nothing else is changed');
  t.is(statSync(config).mode & 0o777, 0o600);
  await t.throwsAsync(async () => rollOver(files, await readIssuers(config)), {
    message: 'the issuer is already active',
  });

  const refused = async (id: string, message: RegExp | string) =>
    t.throwsAsync(async () => retire(id, {}, await readIssuers(config)), { message });
  await refused(next.id, /is not draining: run `signet ca rollover` to another one first/);
  await refused('ffff', 'issuer `ffff` is not in certificates.issuers: see `signet ca list`');
  await refused('', /is not in certificates\.issuers/);
  await refused(
    first.slice(0, 8).toUpperCase(),
    new RegExp(
      `^1 of its certificates are valid, the last one until ${formatTimestamp(ends * 1000)}; the certificate of the server, .* was issued by it and is valid until`,
    ),
  );
  await serveWith('next');
  await refused(
    first,
    /^1 of its certificates are valid, the last one until \S+: verifiers of whole chains refuse them without .*\(use --force/,
  );
  t.like(await retire(first, { force: true, dryRun: true }, await readIssuers(config)), { retired: first });
  t.is((await states(config)).length, 2);
  t.like(await retire(first, { force: true }, await readIssuers(config)), { retired: first });
  t.deepEqual(await states(config), [
    [next.id, 'signing', 1],
    [first, 'not configured', 1],
  ]);
});

test('an authority signs at once without being prepared; the ones before drain', async (t) => {
  const { config, make, first, serveWith } = await world(t);
  const [second, third] = [make('second'), make('third')];
  await rollOver(second, await readIssuers(config));
  await rollOver(third, await readIssuers(config));
  t.deepEqual(await states(config), [
    [third.id, 'signing', 0],
    [second.id, 'draining', 0],
    [first, 'draining', 0],
  ]);
  await serveWith('third');
  await retire(first, {}, await readIssuers(config));
  t.deepEqual(await states(config), [
    [third.id, 'signing', 0],
    [second.id, 'draining', 0],
  ]);
  t.like(await rollOver(second, await readIssuers(config)), { draining: [third.id] }, 'and back');
});

test('what cannot sign here, or cannot be changed, is refused, and the configuration stays', async (t) => {
  const { config, make, text, folder } = await world(t);
  const before = text('signet.yaml');
  const refused = async (options: Parameters<typeof rollOver>[0], message: RegExp) => {
    await t.throwsAsync(async () => rollOver(options, await readIssuers(config)), { message });
    t.is(text('signet.yaml'), before);
  };
  const [good, other] = [make('good'), make('other')];
  await refused({ ...good, key: other.key }, /its private key is not the one of its certificate/);
  await refused(make('short', { days: 29 }), /cannot sign here: it ends at .*, before the longest life/);
  const elsewhere = authorityNames('signet.test', { dns: ['other.test'], uri: [], email: [], ip: [] }, []);
  await refused(
    make('elsewhere', { names: elsewhere }),
    /`server\.sys-auth\.signet\.test` is outside of the name constraints/,
  );
  const narrow = authorityNames('signet.test', { dns: ['signet.test'], uri: ['signet.test'], email: [], ip: [] }, []);
  await refused(make('narrow', { names: narrow }), /`localhost` is outside of the name constraints/);
  chmodSync(good.key, 0o640);
  await refused(good, /can be read by others: its mode must be 0600 or 0400/);
  chmodSync(good.key, 0o400);
  const { configured, ...known } = await readIssuers(config);
  const full = { ...known, configured: Array.from({ length: 8 }, () => configured).flat() };
  await t.throwsAsync(rollOver(good, full), {
    message: /certificates\.issuers is full: remove an issuer with `signet ca retire`/,
  });
  const copied = {
    ...good,
    certificate: join(folder, 'ca/intermediate.cert.pem'),
    key: join(folder, 'ca/intermediate.key.pem'),
  };
  await refused(copied, /the issuer is already active/);
  writeFileSync(join(folder, 'copy.pem'), text('ca', 'intermediate.cert.pem'));
  await refused({ ...copied, certificate: join(folder, 'copy.pem') }, /is already configured, with the certificate/);
  const provenance = new Map([['certificates.issuers', 'environment' as const]]);
  const fromElsewhere = { ...known, configured, config: { ...known.config, provenance } };
  await t.throwsAsync(rollOver(good, fromElsewhere), {
    message: /is not set in the file: change it where it is set/,
  });
  t.is(text('signet.yaml'), before);
});

test('of two changes of the issuers at once, the later one is refused and nothing of the first is lost', async (t) => {
  const { config, make, first, text } = await world(t);
  const message =
    /^the issuers in `.*signet\.yaml` were changed by another process: run `signet ca list`, then try again$/;
  const [second, third] = [make('second'), make('third')];
  const prepare = async ({ certificate, key }: typeof second) => {
    const known = await readIssuers(config);
    return () => rollOver({ certificate, key, prepare: true }, known);
  };
  const begun = await Promise.all([second, third].map(prepare));
  const ended = await Promise.allSettled(begun.map((each) => each()));
  const [refused] = ended.filter((each) => each.status === 'rejected');
  t.is(ended.filter((each) => each.status === 'fulfilled').length, 1);
  t.regex(String(refused?.reason?.message), message);
  t.is((await states(config)).length, 2);

  const { certificate, key } = (await states(config))[1]?.[0] === second.id ? second : third;
  await rollOver({ certificate, key }, await readIssuers(config));
  const before = await readIssuers(config);
  const last = make('last');
  await rollOver({ certificate: last.certificate, key: last.key }, before);
  const changed = text('signet.yaml');
  // The place that it had is that of another one now.
  await t.throwsAsync(retire(first, { force: true }, before), { message });
  await t.throwsAsync(retire(first, { force: true, dryRun: true }, before), { message });
  t.is(text('signet.yaml'), changed);
});
