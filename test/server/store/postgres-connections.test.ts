import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { PostgresSettings } from '@signet/server/config/store-place';
import { PostgresConnections } from '@signet/server/store/postgres/connections';
import { listen } from '@signet/server/store/postgres/listen';
import { openPostgresStore } from '@signet/server/store/postgres/open-postgres';
import { PostgresQueries } from '@signet/server/store/postgres/postgres-queries';
import { usesOf } from '@signet/server/store/postgres/uses';
import test, { type ExecutionContext } from 'ava';
import { sql } from 'kysely';
import { noPostgres, type PostgresServer, postgresPrograms, startPostgres, startStandby } from '#support/postgres';
import { until } from '#support/until';

/* Finding and leaving the primary. */

const postgresTest = postgresPrograms === undefined ? test.skip : test.serial;
if (postgresPrograms === undefined) test.skip(noPostgres, (t) => t.pass());

async function opened(t: ExecutionContext, settings: PostgresSettings): Promise<PostgresConnections> {
  const connections = new PostgresConnections(settings);
  t.teardown(() => connections.close());
  await connections.open();
  return connections;
}

/** Ends the connections of a server to `database`. */
async function endConnections(server: PostgresServer, database: string): Promise<void> {
  const text = 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()';
  await server.query('postgres', text, [database]);
}

postgresTest('of two servers that say that they are the primary, the one promoted later is', async (t) => {
  const old = await startPostgres(t);
  const database = await old.createDatabase();
  const standby = await startStandby(t, old);
  const settings = old.settings(database, { hosts: [old.host, standby.host] });
  const connections = await opened(t, settings);
  t.is(connections.host(), old.host);
  // The old one goes on: nobody told it.
  await standby.promote();
  await endConnections(old, database);
  connections.suspect();
  await until('it has moved', () => connections.host() === standby.host);

  await standby.stop('hard');
  connections.suspect();
  await until('the new one is left', () => connections.host() === undefined);
  const alone = old.settings(database, { hosts: [old.host] });
  t.is((await opened(t, alone)).host(), old.host, 'nobody else can know');
  await t.throwsAsync(connections.connect(), { message: /^the database is not reachable/ });
  await standby.start();
  await until('and taken again', () => connections.host() === standby.host);
  for (let start = 0; start < 5; start += 1) t.is((await opened(t, settings)).host(), standby.host, 'at a start');
});

postgresTest('a machine that says nothing keeps no other one from being the primary', async (t) => {
  const old = await startPostgres(t);
  const database = await old.createDatabase();
  const standby = await startStandby(t, old);
  // Longer than this test waits.
  const connectTimeoutMs = 600_000;
  const connections = await opened(t, old.settings(database, { hosts: [old.host, standby.host], connectTimeoutMs }));
  old.signalAll('SIGSTOP');
  connections.suspect();
  await standby.promote();
  await until('it is found', () => connections.host() === standby.host);
  const closed = connections.close();
  await t.notThrowsAsync(closed, 'nobody waits for the silent one');
});

/** Passes bytes on; while `isSilent`, those of a new connection only until it has logged in. */
async function startProxy(t: ExecutionContext, { host }: PostgresServer) {
  const state = { isSilent: false, to: host };
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const [folder = '', port = ''] = state.to.split(':');
    const server = connect(`${folder}/.s.PGSQL.${port}`);
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => [client, server].map((each) => each.destroy()));
    }
    const isSilent = state.isSilent;
    server.pipe(client);
    client.on('data', (bytes) => {
      // The type of a query; the first message has none.
      if (!isSilent || bytes[0] === 0) server.write(bytes);
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.teardown(() => {
    proxy.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port: own } = proxy.address() as AddressInfo;
  return { state, host: `127.0.0.1:${own}` };
}

postgresTest('a server that says nothing after the log-in is given up like one that says nothing at all', async (t) => {
  const server = await startPostgres(t);
  const database = await server.createDatabase();
  const { state, host } = await startProxy(t, server);
  const connections = await opened(t, server.settings(database, { hosts: [host], connectTimeoutMs: 5000 }));
  state.isSilent = true;
  await t.throwsAsync(connections.connect());
  await until('it is left', () => connections.host() === undefined);
  state.isSilent = false;
  await until('it is back', () =>
    connections.connect().then(
      (client) => {
        client.release();
        return true;
      },
      () => false,
    ),
  );
});

postgresTest('an address that leads to a standby all at once is left until it leads to the primary', async (t) => {
  const server = await startPostgres(t);
  const database = await server.createDatabase();
  const standby = await startStandby(t, server);
  const { state, host } = await startProxy(t, server);
  const connections = await opened(t, server.settings(database, { hosts: [host] }));
  state.to = standby.host;
  const { name, message } = await t.throwsAsync(connections.connect());
  t.deepEqual([name, message], ['StoreUnavailableError', 'the database is not reachable']);
  await until('it is left', () => connections.host() === undefined);
  state.to = server.host;
  await until('it is back', () => connections.host() === host);
  (await connections.connect()).release();
});

postgresTest('a listener that is closed while it connects is closed', async (t) => {
  const server = await startPostgres(t);
  const database = await server.createDatabase();
  const connections = await opened(t, server.settings(database));
  const listener = listen({ connections, onProblem: (message) => t.fail(message) });
  await listener.close();
  const other = listen({ connections, onProblem: (message) => t.fail(message) });
  let hints = 0;
  other.onHint(() => {
    hints += 1;
  });
  await until('it listens', async () => {
    await server.query(database, "select pg_notify('signet', '')");
    return hints > 0;
  });
  const at = hints;
  await endConnections(server, database);
  await until('it listens again, and looks what it has missed', () => hints > at);
  await t.notThrowsAsync(other.close());
});

postgresTest('a wait for a lock that is given up leaves a connection that can be used', async (t) => {
  const server = await startPostgres(t);
  const settings = server.settings(await server.createDatabase(), { poolSize: 1 });
  const store = await openPostgresStore(settings);
  t.teardown(() => store.close());
  const connections = await opened(t, settings);
  const holder = await connections.connect();
  await holder.query('begin; select pg_advisory_xact_lock(6000600)');
  const change = () => store.change({ actor: 'test' }, (transaction) => transaction.newEpoch());
  await t.throwsAsync(change(), { message: 'the store is locked by another writer' });
  await t.notThrowsAsync(store.state(), 'a read on the same connection');
  await holder.query('rollback');
  holder.release();
  await t.notThrowsAsync(change());
});

postgresTest('a transaction whose statement failed is not acknowledged', async (t) => {
  const server = await startPostgres(t);
  const settings = server.settings(await server.createDatabase());
  const connections = await opened(t, settings);
  const { commit, timeoutMs } = usesOf(settings).reads;
  const queries = new PostgresQueries(connections, { begin: 'begin', commit, timeoutMs });
  const swallowed = queries.transact(async (transaction) => {
    await sql`create table kept (id int)`.execute(transaction);
    await sql`select nothing`.execute(transaction).catch(() => undefined);
  });
  await t.throwsAsync(swallowed, { message: 'the change was not saved: one of its statements failed' });
});
