import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { ConflictError, StoreRefusedError, StoreUnavailableError } from '@signet/server/errors';
import type { CertificateRow } from '@signet/server/model/certificate-store';
import { jwkThumbprint } from '@signet/server/model/jwk-thumbprint';
import type { SigningKeyRecord } from '@signet/server/model/records';
import type { Store } from '@signet/server/model/store';
import { backUpStore } from '@signet/server/store/sqlite/backup';
import { checkStore } from '@signet/server/store/sqlite/check';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { restoreStore } from '@signet/server/store/sqlite/restore';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { FakeClock } from '#support/clock';
import { publishNextCrl } from '#support/crl-store';
import { domainContent } from '#support/domains';
import { revoke } from '#support/revoke';
import { saveDomain } from '#support/save-domain';
import { spendJoinToken } from '#support/spend-join-token';
import { changesAfter, contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

const clock = new FakeClock();
const at = Math.floor(clock.now() / 1000);
const sealKey = Buffer.alloc(32, 7);
const by = { clock, context: { actor: 'local:jane', reason: 'disk lost' }, proof: { sealKey } };
const operator = parsePrincipalName('sys.auth.operator');

const save = (
  store: Store,
  name: string,
  roles: Readonly<Record<string, readonly string[]>> = {},
  rules: readonly string[] = [],
) => store.change({ actor: 'local:jane' }, (change) => saveDomain(change, domainContent(name, { roles, rules })));

const instance = (id: string) => ({
  provider: parsePrincipalName('sys.auth.server'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement(id),
});

async function issue(store: Store, serial: string, id?: string): Promise<void> {
  const { provider, instanceId } = id === undefined ? {} : instance(id);
  const holder = parsePrincipalName('media.player');
  const row = {
    serial,
    issuer: 'ca',
    kind: 'instance',
    subject: 'media.player',
    holder,
    provider,
    instanceId,
  } as const;
  await store.certificates.intend({ ...row, notBefore: at, notAfter: at + 86_400 }, at);
  await store.certificates.confirm(serial, `print of ${serial}`);
}

const given = (serial: string) => ({ serial, fingerprint: `print of ${serial}`, notAfter: at + 86_400 });

const keyNames = ['k1', 'k2', 'k3', 'k4', 'k5', 'file'] as const;
const kidOf = (x: string) => jwkThumbprint({ kty: 'EC', crv: 'P-256', x, y: 'y' });
const nameOf = (kid: string) => keyNames.find((name) => kidOf(name) === kid) ?? kid;

/** A key whose id is its thumbprint, as stores are checked for it. */
function signingKey(name: (typeof keyNames)[number]): SigningKeyRecord {
  const kid = kidOf(name);
  const publicJwk = { kty: 'EC', kid, alg: 'ES256', use: 'sig', crv: 'P-256', x: name, y: 'y' } as const;
  return { kid, purpose: 'token', algorithm: 'ES256', publicJwk, createdAt: 1, activateAt: 2 };
}

const revocation = { at, reason: 'key-compromise', by: operator } as const;

/** A store with something of everything, its backup, and then a day of life. */
function feedIn(file: string): unknown {
  const database = new Database(file, { readonly: true });
  try {
    return database.prepare('select seq, kind, key from changes').raw().all();
  } finally {
    database.close();
  }
}

async function dayAfterBackup(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const file = join(folder, 'signet.db');
  const backup = join(folder, 'backup');
  const store = await openSqliteStore(file, { clock });
  t.teardown(() => store.close());
  await save(store, 'media', { viewer: ['media.player'] });
  for (const serial of ['a1', 'a2']) await issue(store, serial, serial);
  for (const id of ['a1', 'a2']) await store.instances.register(instance(id), given(id), { clientOnly: false, at });
  for (const kid of ['k1', 'k2'] as const)
    await store.change(by.context, (change) => change.addSigningKey(signingKey(kid)));
  for (const id of ['t1', 't2']) {
    await store.instances.addJoinToken(id, { ...instance(id), expires: at + 9999, createdBy: operator });
  }
  await store.change(by.context, (change) => change.addSigningKey({ ...signingKey('k4'), activateAt: 9e15 }));
  await publishNextCrl(store.certificates, 'ca');
  const digest = await backUpStore(file, backup, sealKey);

  await save(store, 'media', { viewer: ['media.player', 'media.guest'] }, ['allow read movie viewer']);
  await save(store, 'films');
  for (const serial of ['b1', 'b2']) await issue(store, serial, 'a2');
  await store.instances.rotate(instance('a2'), { serial: 'a2', at: at + 1 }, given('b1'));
  await store.instances.spendAttestationToken('j1', instance('a2'), at + 9999);
  await store.change(by.context, (change) => change.revokeCertificate('b2', revocation));
  await store.change(by.context, (change) => change.removeInstance(instance('a1'), revocation));
  await store.change(by.context, (change) => change.addSigningKey(signingKey('k3')));
  await store.change(by.context, (change) => change.markKeyCompromised(kidOf('k1'), 77));
  t.true(await store.change(by.context, (change) => change.activateSigningKey(kidOf('k4'), 99)));
  await spendJoinToken(store, 't1', instance('t1'), at);
  await store.instances.addJoinToken('t3', { ...instance('t3'), expires: at + 9999, createdBy: operator });
  await publishNextCrl(store.certificates, 'ca');
  return { folder, file, backup, store, digest };
}

test('domains go back; certificates, revocations, instances, tokens, keys and the log do not', async (t) => {
  const { file, backup, store, digest } = await dayAfterBackup(t);
  const head = (await store.verifyAudit()).head;
  await store.close();
  const restored = await restoreStore(file, backup, by);
  const replaced = `${file}.replaced-2`;
  const kept = { certificates: 3, revocations: 2, instances: 2, signingKeys: 1, auditRecords: 7, lost: [] };
  t.deepEqual(restored, { digest, epoch: 2, replaced, kept });

  const again = await openSqliteStore(file, { clock });
  t.teardown(() => again.close());
  const state = await again.state();
  const gap = { gap: 'restart', state } as const;
  t.deepEqual(await again.changesSince({ ...state, epoch: 1 }), gap, 'nobody follows from one epoch into another');
  t.deepEqual(feedIn(file), [[state.counter, 'head', state.head]]);
  t.deepEqual((await changesAfter(again, state))?.since, state);
  const { domains } = await contentsOf(again);
  t.deepEqual(
    domains.map(({ name, policyVersion, roles }) => [
      String(name),
      policyVersion,
      roles[0]?.members.map((member) => member.name),
    ]),
    [['media', 3, ['media.player']]],
  );
  // Its name is known, and its versions go on.
  t.is((await save(again, 'films')).version, 2);
  const revoked = await again.certificates.revocationsAfter(0, at);
  t.deepEqual(
    revoked.map(({ serial, reason }) => [serial, reason]),
    [
      ['b2', 'key-compromise'],
      ['a1', 'key-compromise'],
    ],
  );
  await t.throwsAsync(issue(again, 'b1'), { instanceOf: ConflictError, message: /serial number exists$/ });
  t.like(await again.certificates.find('b1'), { state: 'issued', fingerprint: 'print of b1', revoked: undefined });
  t.is(await again.instances.find(instance('a1')), undefined);
  t.like(await again.instances.find(instance('a2')), { currentSerial: 'b1', previousSerial: 'a2' });
  t.deepEqual(
    (await again.signingKeys())
      .map(({ kid, activateAt, compromisedAt }) => [nameOf(kid), activateAt, compromisedAt] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
    [
      ['k1', 2, 77],
      ['k2', 2, undefined],
      ['k3', 2, undefined],
      ['k4', 99, undefined],
    ],
  );
  t.is(await again.instances.spendAttestationToken('j1', instance('a1'), at), 'foreign', 'a token that counted since');
  const spent = (id: string) => spendJoinToken(again, id, instance(id), at);
  t.deepEqual([await spent('t1'), await spent('t2'), await spent('t3')], [false, true, true]);
  t.is((await again.certificates.lastCrl('ca'))?.der, undefined, 'a list of before may lack what was revoked since');
  t.true((await publishNextCrl(again.certificates, 'ca')) > 2);
  t.is((await again.verifyAudit(head)).fault, undefined);
  t.like((await again.audit({ limit: 3 }))[2], { action: 'restore', actor: 'local:jane', reason: 'disk lost' });
  t.deepEqual((await checkStore(file)).faults, []);
  t.is(statSync(file).mode & 0o777, 0o600);
  t.is(statSync(replaced).mode & 0o777, 0o600);
});

test('the store that was replaced is kept as it was, and can be put back', async (t) => {
  const { file, backup, store } = await dayAfterBackup(t);
  await store.close();
  const before = await checkStore(file);
  const { replaced = '' } = await restoreStore(file, backup, by);
  t.is((await checkStore(replaced)).digest, before.digest);
  await t.throwsAsync(restoreStore(file, replaced, by), { instanceOf: StoreRefusedError, message: /has no seal: use/ });
  t.is((await restoreStore(file, replaced, { ...by, proof: { digest: before.digest } })).epoch, 3);
  const again = await openSqliteStore(file);
  t.deepEqual((await again.domainNames()).map(String), ['films', 'media']);
  t.deepEqual((await again.verifyAudit()).fault, undefined);
  t.is((await again.certificates.revocationsAfter(0, at)).length, 2);
  await again.close();
});

test('a name that a killed restore left behind is not in the way, and what it holds stays', async (t) => {
  const { file, backup, store } = await dayAfterBackup(t);
  await store.close();
  writeFileSync(`${file}.replaced-2`, 'of before');
  t.is((await restoreStore(file, backup, by)).replaced, `${file}.replaced-2.1`);
  t.is(readFileSync(`${file}.replaced-2`, 'utf8'), 'of before');
});

test('private halves that were sealed since the backup live on, those of compromised keys do not', async (t) => {
  const folder = temporaryFolder(t);
  const [file, backup] = [join(folder, 'signet.db'), join(folder, 'backup')];
  const store = await openSqliteStore(file, { clock });
  t.teardown(() => store.close());
  const half = (text: string, sealingKey: string) => ({ sealingKey, text });
  const change = (work: Parameters<typeof store.change>[1]) => store.change(by.context, work);
  for (const kid of ['k1', 'k2', 'k3', 'k4'] as const) {
    await change((transaction) => transaction.addSigningKey(signingKey(kid), half(kid, 'old')));
  }
  await change((transaction) => transaction.addSigningKey(signingKey('file')));
  const digest = await backUpStore(file, backup, sealKey);
  await change((transaction) => transaction.sealSigningKey(kidOf('k1'), half('k1 again', 'new')));
  await change((transaction) => transaction.markKeyCompromised(kidOf('k2'), 77));
  await change((transaction) => transaction.addSigningKey(signingKey('k5'), half('k5', 'new')));
  await store.close();
  t.is((await restoreStore(file, backup, by)).digest, digest);
  const again = await openSqliteStore(file, { clock });
  t.teardown(() => again.close());
  t.deepEqual(
    new Map(
      [...(await again.sealedKeys())]
        .map(([kid, sealed]) => [nameOf(kid), sealed] as const)
        .toSorted(([one], [other]) => (one < other ? -1 : 1)),
    ),
    new Map([
      ['k1', half('k1 again', 'new')],
      ['k3', half('k3', 'old')],
      ['k4', half('k4', 'old')],
      ['k5', half('k5', 'new')],
    ]),
  );
  t.is((await again.signingKeys()).length, 6);
});

test('a revocation is kept also where the log of the store is not that of the backup', async (t) => {
  const { file, backup, store } = await dayAfterBackup(t);
  await store.close();
  for (const suffix of ['', '-wal', '-shm', '.witness']) rmSync(`${file}${suffix}`, { force: true });
  const other = await openSqliteStore(file, { clock });
  await save(other, 'elsewhere');
  await issue(other, 'a2', 'a2');
  await issue(other, 'c1');
  for (const serial of ['a2', 'c1']) await revoke(other, serial, revocation);
  await other.close();
  const { kept } = await restoreStore(file, backup, by);
  const none = { instances: 0, signingKeys: 0, auditRecords: 0 };
  t.deepEqual(kept, { ...none, certificates: 1, revocations: 2, lost: ['auditRecords'] });
  const again = await openSqliteStore(file, { clock });
  t.teardown(() => again.close());
  t.deepEqual(
    (await again.certificates.revocationsAfter(0, at)).map(({ serial, sequence }) => [serial, sequence]),
    [
      ['a2', 1],
      ['c1', 2],
    ],
  );
  t.deepEqual((await checkStore(file)).faults, []);
});

test('names that the backup does not know end with what was given to them, and those used again since begin again', async (t) => {
  const clock = new FakeClock();
  const folder = temporaryFolder(t);
  const [file, backup] = [join(folder, 'signet.db'), join(folder, 'backup')];
  const store = await openSqliteStore(file, { clock });
  t.teardown(() => store.close());
  const put = (services: readonly string[], name = 'media') =>
    store.change({ actor: 'local:jane' }, (change) => saveDomain(change, domainContent(name, { services })));
  const hold = async (serial: string, name: string) => {
    const holder = parsePrincipalName(name);
    const row = { serial, issuer: 'ca', kind: 'service', subject: name, holder } as const;
    await store.certificates.intend({ ...row, notBefore: at, notAfter: at + 86_400 }, at);
    await store.certificates.confirm(serial, `print of ${serial}`);
  };
  await put(['player', 'studio', 'same']);
  await hold('d0', 'media.same');
  await put(['api'], 'brief');
  await backUpStore(file, backup, sealKey);
  clock.advance(1000);
  await put(['studio', 'same', 'late']);
  await put(['player', 'same', 'late']);
  for (const [serial, name] of [
    ['d1', 'media.player'],
    ['d2', 'media.late'],
    ['d3', 'media.same'],
    ['d4', 'films.api'],
    ['d5', 'brief.api'],
  ] as const) {
    if (name === 'films.api') await put(['api'], 'films');
    await hold(serial, name);
  }
  const ofLate = { ...instance('i-1'), service: parseServiceName('late') };
  await store.instances.addJoinToken('late', { ...ofLate, expires: at + 9999, createdBy: operator });
  await store.change(by.context, (change) => change.deleteDomain(parseDomainName('brief')));
  await store.close();
  clock.advance(1000);
  t.deepEqual((await restoreStore(file, backup, { ...by, clock })).kept?.lost, []);

  const again = await openSqliteStore(file, { clock });
  t.teardown(() => again.close());
  const isRevoked = async (serial: string) => (await again.certificates.find(serial))?.revoked !== undefined;
  const serials = ['d0', 'd1', 'd2', 'd3', 'd4', 'd5'];
  t.deepEqual(await Promise.all(serials.map(isRevoked)), [false, true, true, false, true, true]);
  const from = async (name: string) => {
    const { credentialsFrom, servicesFrom = new Map() } = (await again.domain(parseDomainName(name))) ?? {};
    return [credentialsFrom, Object.fromEntries(servicesFrom)];
  };
  const restoredAt = Math.floor(clock.now() / 1000) * 1000;
  t.deepEqual(await from('media'), [undefined, { player: restoredAt, studio: restoredAt }]);
  t.deepEqual(await from('brief'), [restoredAt, { api: restoredAt }]);
  const ended = await again.view((reader) =>
    reader.endedNames(['media.late', 'media.player', 'media.same', 'films', 'films.api', 'brief', 'brief.api']),
  );
  t.deepEqual(
    ended.map(({ name }) => name),
    ['films', 'films.api', 'media.late'],
  );
  t.false(await spendJoinToken(again, 'late', ofLate, at));
  t.deepEqual((await checkStore(file)).faults, []);
});

test('what was being issued during the backup is as the replaced store knows it', async (t) => {
  const folder = temporaryFolder(t);
  const [file, backup] = [join(folder, 'signet.db'), join(folder, 'backup')];
  const store = await openSqliteStore(file, { clock });
  t.teardown(() => store.close());
  await save(store, 'media');
  const holder = parsePrincipalName('media.player');
  const kinds = { c1: 'instance', c2: 'role', c3: 'ssh-host', c4: 'ssh-user', c5: 'instance' } as const;
  for (const [serial, kind] of Object.entries(kinds)) {
    const { provider, instanceId } = instance(serial);
    const row = { serial, issuer: 'ca', kind, subject: 'media.player', holder, provider, instanceId };
    // Rows of SSH certificates stand among the others.
    await store.certificates.intend({ ...row, notBefore: at, notAfter: at + 86_400 } as unknown as CertificateRow, at);
  }
  await backUpStore(file, backup, sealKey);
  await store.instances.register(instance('c1'), given('c1'), { clientOnly: false, at });
  for (const serial of ['c2', 'c3', 'c4']) await store.certificates.confirm(serial, `print of ${serial}`);
  await store.change(by.context, (change) => change.revokeCertificate('c2', revocation));
  await store.close();
  await restoreStore(file, backup, by);

  const again = await openSqliteStore(file, { clock });
  t.teardown(() => again.close());
  const database = new Database(file, { readonly: true });
  const rows = database
    .prepare('select serial, kind, state, fingerprint from certificates order by serial')
    .raw()
    .all();
  database.close();
  t.deepEqual(rows, [
    ['c1', 'instance', 'issued', 'print of c1'],
    ['c2', 'role', 'issued', 'print of c2'],
    ['c3', 'ssh-host', 'issued', 'print of c3'],
    ['c4', 'ssh-user', 'issued', 'print of c4'],
    ['c5', 'instance', 'intended', null],
  ]);
  t.like(await again.instances.find(instance('c1')), { currentSerial: 'c1' });
  t.deepEqual(
    (await again.certificates.revocationsAfter(0, at)).map(({ serial, fingerprint }) => [serial, fingerprint]),
    [['c2', 'print of c2']],
  );
  t.deepEqual((await checkStore(file)).faults, []);
});

/** Overwrites the pages of a table. */
function overwrite(file: string, table: string): void {
  const database = new Database(file, { readonly: true });
  const pages = database.prepare('select pageno from dbstat where name = ?').pluck().all(table);
  database.close();
  const bytes = readFileSync(file);
  for (const page of pages) bytes.fill(0xaa, (Number(page) - 1) * 4096, Number(page) * 4096);
  writeFileSync(file, bytes);
}

/** With the parts that are lost; nothing is kept where there is no list. */
const unreadable: readonly (readonly [note: string, spoil: (file: string) => void, lost?: readonly string[]])[] = [
  ['is gone', (file) => rmSync(file)],
  ['is not a database', (file) => writeFileSync(file, 'hello, world: this is not a database at all')],
  ['is empty', (file) => writeFileSync(file, '')],
  [
    'has a corrupt first page',
    (file) => {
      const bytes = readFileSync(file);
      bytes.fill(0xaa, 100, 3000);
      writeFileSync(file, bytes);
    },
  ],
  ['has corrupt pages of its log', (file) => overwrite(file, 'audit'), ['auditRecords']],
  ['has corrupt pages of its tokens', (file) => overwrite(file, 'join_tokens'), ['joinTokens']],
];
for (const [note, spoil, lost] of unreadable) {
  test(`a store that ${note} gives way to the backup, with what can be read of it`, async (t) => {
    const { file, backup, store, digest } = await dayAfterBackup(t);
    await store.close();
    spoil(file);
    const restored = await restoreStore(file, backup, by);
    t.is(restored.digest, digest);
    const again = await openSqliteStore(file, { clock });
    t.teardown(() => again.close());
    t.deepEqual((await again.domainNames()).map(String), ['media']);
    t.is((await again.verifyAudit()).fault, undefined);
    t.deepEqual(restored.kept?.lost, lost);
    t.is((await again.certificates.revocationsAfter(0, at)).length, lost === undefined ? 0 : 2);
    const isTokenGood = await spendJoinToken(again, 't2', instance('t2'), at);
    t.is(isTokenGood, lost !== undefined && !lost.includes('joinTokens'));
    // The former epochs are unknown: time goes on in any case.
    t.is((await again.state()).epoch, lost === undefined ? at + 1 : 2);
    t.deepEqual((await checkStore(file)).faults, []);
  });
}

test('what is left of a store without its file is not read into the new one', async (t) => {
  const { folder, file, backup, store } = await dayAfterBackup(t);
  const log = readFileSync(`${file}-wal`);
  await store.close();
  rmSync(file);
  writeFileSync(`${file}-wal`, log, { mode: 0o600 });
  await restoreStore(file, backup, by);
  const { faults, domains } = await checkStore(file);
  t.deepEqual([faults, domains], [[], 1]);
  t.deepEqual(
    readdirSync(folder).filter((name) => name.endsWith('-wal')),
    [`${basename(file)}.replaced-${at + 1}-wal`],
  );
});

const altered: readonly (readonly [note: string, alter: (backup: string) => void, message: RegExp])[] = [
  [
    'one letter of a reason',
    (backup) => {
      const bytes = readFileSync(backup);
      const place = bytes.indexOf('disk lost');
      bytes.write('x', place);
      writeFileSync(backup, bytes);
    },
    /^backup `.*` was changed after it was created$/,
  ],
  [
    'a member added by hand',
    (backup) => {
      const database = new Database(backup);
      database.exec(
        "insert into members (domain, kind, list, member, disabled) values ('media', 'role', 'viewer', 'evil.one', 0)",
      );
      database.close();
    },
    /^backup `.*` was changed after it was created$/,
  ],
  [
    'its end cut off',
    (backup) => writeFileSync(backup, readFileSync(backup).subarray(0, 40_000)),
    /^backup `.*` is corrupt$/,
  ],
  [
    'a page overwritten',
    (backup) => {
      const bytes = readFileSync(backup);
      bytes.fill(0xaa, 8192, 12_288);
      writeFileSync(backup, bytes);
    },
    /^backup `.*` is corrupt$/,
  ],
  [
    'a step of a newer program',
    (backup) => {
      const database = new Database(backup);
      database.exec(
        `drop table backup_seal; insert into kysely_migration (name, timestamp) values ('999-future', '2030')`,
      );
      database.close();
    },
    /^backup `.*` was written by a newer version of this program$/,
  ],
];
for (const [note, alter, message] of altered) {
  test(`a backup with ${note} is refused before the store is touched`, async (t) => {
    const { folder, file, backup, store } = await dayAfterBackup(t);
    await store.close();
    alter(backup);
    const before = readFileSync(file);
    await t.throwsAsync(restoreStore(file, backup, by), { instanceOf: StoreRefusedError, message });
    t.true(readFileSync(file).equals(before));
    t.deepEqual(readdirSync(folder).toSorted(), ['backup', 'signet.db', 'signet.db.witness']);
  });
}

test('a store of a newer program is not replaced', async (t) => {
  const { file, backup, store } = await dayAfterBackup(t);
  await store.close();
  const database = new Database(file);
  database.exec(`insert into kysely_migration (name, timestamp) values ('999-future', '2030')`);
  database.close();
  await t.throwsAsync(restoreStore(file, backup, by), { message: /was written by a newer version of this program$/ });
});

test('a store that is in use is not replaced, whatever else is wrong', async (t) => {
  const { file, backup, store } = await dayAfterBackup(t);
  await t.throwsAsync(restoreStore(file, backup, by), {
    instanceOf: StoreUnavailableError,
    message: 'the store is in use: stop its servers first',
  });
  t.false(existsSync(`${file}.replaced-2`));
  t.is((await store.domainNames()).length, 2);
});
