import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import { StoreUnavailableError } from '@signet/server/errors';
import { auditHash } from '@signet/server/store/audit-chain';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import { plainRecord } from '#support/plain-domains';
import { runProgram } from '#support/run-program';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

async function storeWithChanges(t: ExecutionContext) {
  const file = join(temporaryFolder(t), 'signet.db');
  const store = await openSqliteStore(file);
  t.teardown(() => store.close());
  for (const name of ['one', 'two', 'three', 'four']) {
    await store.change({ actor: 'local:jane', reason: name }, async (change) => {
      await saveDomain(change, plainRecord({ name }, 0));
      await saveDomain(change, plainRecord({ name: `${name}.more` }, 0));
    });
  }
  const tamper = (sql: string) => {
    const database = new Database(file);
    database.exec(sql);
    database.close();
  };
  return { store, tamper };
}

test('the chain of an untouched log is whole, and grows from a head noted earlier', async (t) => {
  const { store } = await storeWithChanges(t);
  const noted = await store.verifyAudit();
  t.is(noted.records, 8);
  t.is(noted.fault, undefined);
  await store.change({ actor: 'local:jane' }, (change) => change.deleteDomain(parseDomainName('one')));
  const later = await store.verifyAudit(noted.head);
  t.deepEqual([later.records, later.fault], [9, undefined]);
  t.is((await store.verifyAudit('0'.repeat(64))).fault, 'the chain does not pass through the given head');
});

const tampering: readonly (readonly [note: string, sql: string, fault: RegExp])[] = [
  ['a record edited', "update audit set reason = 'other' where reason = 'two'", /was changed/],
  ['an actor edited', "update audit set actor = 'x' where id = (select max(id) from audit)", /was changed/],
  ['a record dropped', 'delete from audit where id = (select min(id) + 1 from audit)', /was changed/],
  ['the first record dropped', 'delete from audit where id = (select min(id) from audit)', /was changed/],
  ['the last record dropped', 'delete from audit where id = (select max(id) from audit)', /at the end are missing/],
  ['all dropped', 'delete from audit', /at the end are missing/],
  [
    'two records swapped',
    'update audit set id = case id when 1 then 2 when 2 then 1 end + 1000 where id in (1, 2)',
    /was changed/,
  ],
  [
    'a record added',
    "insert into audit select id + 1000, at, actor, certificate_serial, request_id, reason, action, subject, version, counter, before, after, hash from audit where reason = 'one'",
    /was changed/,
  ],
];
for (const [note, sql, fault] of tampering) {
  test(`found: ${note}`, async (t) => {
    const { store, tamper } = await storeWithChanges(t);
    tamper(sql);
    t.regex((await store.verifyAudit()).fault ?? '', fault);
  });
}

test('who cuts the end off and puts the head right is found by a head noted before', async (t) => {
  const { store, tamper } = await storeWithChanges(t);
  const { head } = await store.verifyAudit();
  tamper(`delete from audit where id = (select max(id) from audit);
    update meta set audit_head = (select hash from audit order by id desc limit 1)`);
  t.is((await store.verifyAudit()).fault, undefined);
  t.is((await store.verifyAudit(head)).fault, 'the chain does not pass through the given head');
});

test('a change that cannot be recorded does not happen; reads go on', async (t) => {
  const { store, tamper } = await storeWithChanges(t);
  tamper('alter table audit rename to gone');
  await t.throwsAsync(
    store.change({ actor: 'a' }, (change) => saveDomain(change, plainRecord({ name: 'five' }, 0))),
    {
      instanceOf: StoreUnavailableError,
    },
  );
  t.is((await store.domainNames()).length, 8);
  tamper('alter table gone rename to audit');
  await store.change({ actor: 'a' }, (change) => saveDomain(change, plainRecord({ name: 'five' }, 0)));
  t.deepEqual(await store.verifyAudit().then(({ records, fault }) => [records, fault]), [9, undefined]);
});

test('the hash of a record is that of its JSON, however long it is', (t) => {
  const [pair, lone] = ['\u{1f600}', '\ud83d'];
  const row = {
    id: 7,
    at: 1,
    actor: 'local:jane',
    request_id: null,
    certificate_serial: null,
    reason: `"${lone}`,
    version: 3,
  };
  for (const before of [
    null,
    '',
    `{"a":"${pair}"}`,
    'x'.repeat(131_071) + pair,
    `"\\\n${pair.repeat(300_000)}${lone}`,
  ]) {
    const record = { ...row, action: 'change', subject: 'media', counter: 9, before, after: `${before}\u2028` };
    const { id, at, actor, certificate_serial, request_id, reason, action, subject, version, counter, after } = record;
    const said = [
      id,
      at,
      actor,
      certificate_serial,
      request_id,
      reason,
      action,
      subject,
      version,
      counter,
      before,
      after,
    ];
    const expected = createHash('sha256')
      .update(JSON.stringify(['ab', ...said]))
      .digest('hex');
    t.is(auditHash('ab', record), expected);
  }
});

test('records of many megabytes are verified in the memory of a few of them', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  await (await openSqliteStore(file)).close();
  const database = new Database(file);
  const row = { id: 0, at: 0, actor: 'a', certificate_serial: null, request_id: null, reason: null, version: null };
  const record = {
    ...row,
    action: 'change',
    subject: 'd',
    counter: 0,
    before: null,
    after: 'x'.repeat(8_000_000),
  } as const;
  const columns = [...Object.keys(record), 'hash'];
  const insert = database.prepare(`insert into audit (${columns}) values (${columns.map((name) => `:${name}`)})`);
  let hash = '';
  for (let id = 1; id <= 30; id += 1) {
    hash = auditHash(hash, { ...record, id });
    insert.run({ ...record, id, hash });
  }
  database.prepare('update meta set audit_head = ?').run(hash);
  database.close();
  const opener = JSON.stringify(import.meta.resolve('@signet/server/store/sqlite/open-sqlite'));
  const script = `import { openSqliteStore } from ${opener};
    const store = await openSqliteStore(process.argv[1], { readonly: true, witness: 'ignored' });
    console.log(JSON.stringify(await store.verifyAudit()));
    await store.close();`;
  const options = ['--conditions=@signet/source', '--max-old-space-size=128', '--input-type=module', '--eval', script];
  const { stdout, stderr } = await runProgram(process.execPath, [...options, '--', file]);
  t.is(stderr, '');
  t.deepEqual(JSON.parse(stdout), { records: 30, head: hash });
});
