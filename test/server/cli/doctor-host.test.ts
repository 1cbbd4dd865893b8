import { checkDatabase, type DatabaseUse } from '@signet/server/cli/doctor/database-checks';
import type { Finding } from '@signet/server/cli/doctor/finding';
import { openStore } from '@signet/server/store/open';
import { type DatabaseFacts, inspectPostgres } from '@signet/server/store/postgres/inspect';
import test, { type ExecutionContext } from 'ava';
import pg from 'pg';
import { noPostgres, postgresPrograms, sharedPostgres } from '#support/postgres';
import { until } from '#support/until';

const facts: DatabaseFacts = {
  host: 'db1:5432',
  version: '15.20',
  tls: 'TLSv1.3',
  synchronousStandbys: 'ANY 1 (a, b)',
  synchronousCommit: 'on',
  standbys: 2,
  connections: 97,
  usedByOthers: 3,
  processes: 2,
  schemaProblem: undefined,
};
const use: DatabaseUse = { poolSize: 8, listen: true, migrate: 'auto', workers: 2 };

/** Findings that need action, in words. */
const complaints = (findings: readonly Finding[]) =>
  findings.filter(({ state }) => state !== 'ok').map(({ check, state, found }) => `${check} ${state}: ${found}`);

const older = 'store `db1:5432/signet` has an older schema';
const cases: readonly (readonly [
  name: string,
  facts: Partial<DatabaseFacts>,
  use: Partial<DatabaseUse>,
  expected: readonly string[],
])[] = [
  ['in order', {}, {}, []],
  ['a socket', { host: '/run/postgresql', tls: undefined }, {}, []],
  [
    'no TLS on this machine',
    { host: '127.0.0.1:5432', tls: undefined },
    {},
    ['database warning: connections to it are not encrypted, at a port of this machine'],
  ],
  ['an older schema that a start migrates', { schemaProblem: older }, {}, [`schema warning: ${older}`]],
  ['an older schema', { schemaProblem: older }, { migrate: 'manual' }, [`schema failed: ${older}`]],
  ['all connections of this server alone', { connections: 18, usedByOthers: 0, processes: 0 }, {}, []],
  [
    'one connection fewer',
    { connections: 17, usedByOthers: 0, processes: 0 },
    {},
    ['connections failed: 2 processes with 9 connections each need 18 of the 17 that there are'],
  ],
  ['a pool without a listener', { connections: 16, usedByOthers: 0, processes: 0 }, { listen: false }, []],
  ['all servers and others, to the last connection', { connections: 93, usedByOthers: 3, processes: 10 }, {}, []],
  [
    'all servers and one more of others',
    { connections: 93, usedByOthers: 4, processes: 10 },
    {},
    ['connections warning: 10 processes of servers may need 90, and others use 4, of the 93 that there are'],
  ],
  [
    'no synchronous standby',
    { synchronousStandbys: '', standbys: 1 },
    {},
    [
      'standbys warning: 1 standby is connected, none of them synchronous: changes that were acknowledged can be lost at a failover',
    ],
  ],
  [
    'commits that wait for nobody',
    { synchronousCommit: 'local' },
    {},
    [
      'standbys warning: 2 standbys are connected, and `synchronous_commit` is local: changes that were acknowledged can be lost',
    ],
  ],
  [
    'synchronous standbys that are not there',
    { standbys: 0 },
    {},
    ['standbys failed: no standby is connected, and `synchronous_standby_names` requires some: changes wait for them'],
  ],
];

for (const [name, changedFacts, changedUse, expected] of cases) {
  test(`a database: ${name}`, (t) => {
    const findings = checkDatabase({ ...facts, ...changedFacts }, { ...use, ...changedUse });
    t.deepEqual(complaints(findings), expected);
    t.true(findings.every(({ state, advice }) => (state === 'ok') === (advice === undefined)));
  });
}

const postgresTest = postgresPrograms === undefined ? test.skip : test.serial;
if (postgresPrograms === undefined) test.skip(noPostgres, (t) => t.pass());

async function newDatabase(t: ExecutionContext) {
  const server = await sharedPostgres();
  const name = await server.createDatabase('icu-en-US');
  const settings = server.settings(name, { listen: true });
  const open = async (): Promise<void> => {
    const store = await openStore({ kind: 'postgres', ...settings });
    t.teardown(() => store.close());
  };
  return { server, name, settings, open };
}

postgresTest('a real database: its schema, and who is connected', async (t) => {
  const { settings, open } = await newDatabase(t);
  const empty = await inspectPostgres(settings);
  t.regex(empty.schemaProblem ?? '', /older schema/);
  t.deepEqual([empty.tls, empty.synchronousStandbys, empty.standbys, empty.processes], [undefined, '', 0, 0]);
  t.is(empty.connections, 497, 'without those for superusers');
  await open();
  await open();
  await until('both listen', async () => (await inspectPostgres(settings)).processes === 2);
  const { schemaProblem } = await inspectPostgres(settings);
  t.is(schemaProblem, undefined);
});

postgresTest('connections of others count, and limits of a database', async (t) => {
  const { server, name, settings, open } = await newDatabase(t);
  await open();
  await server.query('postgres', `alter database ${name} connection limit 7`);
  const before = await inspectPostgres(settings);
  t.is(before.connections, 7);
  const [host] = server.host.split(':');
  const other = new pg.Client({ ...(host !== undefined && { host }), user: server.user, database: name });
  await other.connect();
  t.teardown(() => other.end());
  const after = await inspectPostgres(settings);
  t.true(after.usedByOthers >= 1);
});

postgresTest('a database that is not there', async (t) => {
  const { settings } = await newDatabase(t);
  await t.throwsAsync(inspectPostgres({ ...settings, database: 'nowhere' }), { name: 'StoreRefusedError' });
  await t.throwsAsync(inspectPostgres({ ...settings, hosts: ['/nowhere:5432'] }), { name: 'StoreUnavailableError' });
});
