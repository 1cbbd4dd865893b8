import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { createAuthorities, firstRevocationList } from '@signet/server/x509/certificate-authority';
import { nextCrlNumber } from '@signet/server/x509/crl';
import { createCrlPublisher } from '@signet/server/x509/crl-publisher';
import { readCrl } from '@signet/server/x509/crl-reader';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import { openIssuers } from '@signet/server/x509/issuers';
import { readRootLists } from '@signet/server/x509/root-lists';
import test, { type ExecutionContext } from 'ava';
import { FakeClock } from '#support/clock';
import { CrlsByIssuer } from '#support/crl-store';
import { openssl } from '#support/openssl';
import { temporaryFolder } from '#support/temp';

/* The revocation lists of roots: from files, since the server never holds the key of a root. */

async function world(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  const { root, intermediate } = await createAuthorities(systemClock);
  const list = await firstRevocationList(root, systemClock);
  const files = { 'roots.pem': root.certificate, 'ca.pem': intermediate.certificate, 'ca.key': intermediate.key };
  for (const [name, text] of Object.entries({ ...files, 'root.crl': list })) writeFileSync(at(name), text);
  const open = async (...rootLists: readonly string[]) => {
    const sources = [{ certificate: at('ca.pem'), key: at('ca.key'), state: 'active' as const }];
    const deps = { sources, roots: at('roots.pem'), rootLists: rootLists.map(at), reloadIntervalMs: 3_600_000 };
    const issuers = await openIssuers({ ...deps, onError: () => t.fail() });
    t.teardown(() => issuers.close());
    return issuers;
  };
  return { folder, at, root, list, open };
}

test('PEM or DER, of a root that there is; anything else is refused with its reason', async (t) => {
  const { folder, root, list } = await world(t);
  const der = Buffer.from(list.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  const read = (bytes: Buffer | string) =>
    readRootLists([{ name: 'x.crl', bytes: Buffer.from(bytes) }], root.certificate);
  const { id } = issuerFromPem(root.certificate, root.key);
  for (const bytes of [list, der, `text before\n${list}`]) t.like(read(bytes), [{ id, der }]);
  const other = await firstRevocationList((await createAuthorities(systemClock)).root, systemClock);
  const changed = Buffer.from(der);
  changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
  const refused: readonly (readonly [bytes: Buffer | string, says: RegExp])[] = [
    [other, /`x\.crl` cannot be used: it is by none of the roots/],
    [changed, /it is by none of the roots/],
    [list + list, /the file must hold one list/],
    ['', /cannot be used: the list is missing/],
    [root.certificate, /cannot be used/],
    [der.subarray(0, -1), /cannot be used: an element is longer than the input/],
    [Buffer.concat([der, Buffer.of(0)]), /the list has more in it than it should/],
  ];
  for (const [bytes, message] of refused) t.throws(() => read(bytes), { name: 'IssuerError', message });
  const twice = [list, list].map((text, index) => ({ name: `${index}`, bytes: Buffer.from(text) }));
  t.throws(() => readRootLists(twice, root.certificate), { message: 'a root has two revocation lists' });
  t.true((await openssl(folder, 'crl', '-in', 'root.crl', '-CAfile', 'roots.pem', '-noout')).ok);
});

test('a list made by openssl is one of a foreign root', async (t) => {
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  const config = `[ca]
default_ca = c
[c]
database = ${at('index.txt')}
crlnumber = ${at('number')}
default_md = sha384
default_crl_days = 7
crl_extensions = e
[e]
authorityKeyIdentifier = keyid:always
[req]
distinguished_name = d
x509_extensions = v
[v]
subjectKeyIdentifier = hash
basicConstraints = critical, CA:true
[d]
`;
  writeFileSync(at('config'), config);
  writeFileSync(at('index.txt'), 'R\t360101000000Z\t260101000000Z,CACompromise\t4711\tunknown\t/CN=Old\n');
  writeFileSync(at('number'), `${'12'.repeat(20)}\n`);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-384', '-nodes', '-keyout', 'root.key'];
  const made = await openssl(
    folder,
    'req',
    '-x509',
    ...key,
    '-config',
    'config',
    '-subj',
    '/CN=Foreign',
    '-out',
    'root.pem',
  );
  t.true(made.ok, made.output);
  const signed = [
    'ca',
    '-gencrl',
    '-config',
    'config',
    '-keyfile',
    'root.key',
    '-cert',
    'root.pem',
    '-out',
    'root.crl',
  ];
  const said = await openssl(folder, ...signed);
  t.true(said.ok, said.output);
  const file = { name: 'root.crl', bytes: readFileSync(at('root.crl')) };
  const [list] = readRootLists([file], readFileSync(at('root.pem'), 'utf8'));
  const { number } = readCrl(list?.der ?? Buffer.alloc(0));
  t.is(number, BigInt(`0x${'12'.repeat(20)}`), 'the longest that RFC 5280 §5.2.3 allows');
  t.deepEqual([nextCrlNumber(number, 1), nextCrlNumber(7n, 7), nextCrlNumber(7n, 9)], [number + 1n, 8n, 9n]);
  t.is((list?.nextUpdate ?? 0) - (list?.thisUpdate ?? 0), 7 * 86_400);
});

test('a list that is renewed is taken without a restart; one that does not fit changes nothing', async (t) => {
  const { at, root, list, open } = await world(t);
  const issuers = await open('root.crl');
  const [before] = issuers.current().rootLists;
  writeFileSync(at('root.crl'), 'nothing');
  await t.throwsAsync(issuers.reload(), { message: /root\.crl` cannot be used/ });
  t.is(issuers.current().rootLists[0], before);
  const later = new FakeClock(systemClock.now() + 60_000);
  writeFileSync(at('root.crl'), await firstRevocationList(root, later));
  t.true(await issuers.reload());
  t.true((issuers.current().rootLists[0]?.number ?? 0) > (before?.number ?? 0));
  writeFileSync(at('root.crl'), list);
  t.true(await issuers.reload());
  await t.throwsAsync(open('missing.crl'), { code: 'ENOENT' });
});

test('a list that is renewed is taken while the files of an issuer are in disorder', async (t) => {
  const { at, root, open } = await world(t);
  const issuers = await open('root.crl');
  const { active, rootLists } = issuers.current();
  const { key } = (await createAuthorities(systemClock)).intermediate;
  writeFileSync(at('ca.key'), key);
  writeFileSync(at('root.crl'), await firstRevocationList(root, new FakeClock(systemClock.now() + 60_000)));
  await t.throwsAsync(issuers.reload(), { message: /^issuer `.*ca\.pem` cannot be used/ });
  t.true((issuers.current().rootLists[0]?.number ?? 0) > (rootLists[0]?.number ?? 0));
  t.is(issuers.current().active, active);
  writeFileSync(at('root.crl'), 'nothing');
  await t.throwsAsync(issuers.reload(), { message: /root\.crl` cannot be used/ });
  t.true((issuers.current().rootLists[0]?.number ?? 0) > (rootLists[0]?.number ?? 0));
});

test('the list of a root counts for the freshness in its last month', async (t) => {
  const { open } = await world(t);
  const issuers = await open('root.crl');
  const clock = new FakeClock(systemClock.now());
  const revocations = { sequence: 0, rereadAt: 0, ofIssuer: () => [] };
  const crls = createCrlPublisher({
    issuers,
    clock,
    revocations,
    certificates: new CrlsByIssuer(),
    lifetimeSeconds: 600,
  });
  t.is(crls.freshness(), 1);
  const end = issuers.current().rootLists[0]?.nextUpdate ?? 0;
  const day = 86_400;
  for (const [left, expected] of [
    [30 * day, 1],
    [15 * day, 0.5],
    [0, 0],
    [-day, 0],
  ] as const) {
    clock.advance((end - left) * 1000 - clock.now());
    t.is(Math.round(crls.freshness() * 100) / 100, expected);
  }
});
