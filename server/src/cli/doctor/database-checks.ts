import { type PostgresSettings, parseHost } from '../../config/store-place.ts';
import type { DatabaseFacts } from '../../store/postgres/inspect.ts';
import type { Finding } from './finding.ts';

/** Database requirements of a server with this configuration. */
export interface DatabaseUse extends Pick<PostgresSettings, 'poolSize' | 'listen' | 'migrate'> {
  readonly workers: number;
}

/** Findings about a database, for servers of which each is configured as this one. */
export function checkDatabase(facts: DatabaseFacts, use: DatabaseUse): readonly Finding[] {
  const { host, version, tls } = facts;
  const secured = tls === undefined ? 'without TLS' : `over ${tls}`;
  return [
    { check: 'database', state: 'ok', found: `\`${host}\` is the primary, PostgreSQL ${version}, ${secured}` },
    ...(tls === undefined ? checkPlain(host) : []),
    checkSchema(facts, use),
    checkConnections(facts, use),
    ...checkDurability(facts),
  ];
}

/** Findings about a connection without TLS, which is acceptable on this machine only through a socket: another program may have taken a port. */
function checkPlain(host: string): readonly Finding[] {
  if (parseHost(host)?.host.startsWith('/') === true) return [];
  const advice = 'set `store.postgres.ca`, or use the folder of its socket';
  return [
    {
      check: 'database',
      state: 'warning',
      found: 'connections to it are not encrypted, at a port of this machine',
      advice,
    },
  ];
}

function checkSchema({ schemaProblem }: DatabaseFacts, { migrate }: DatabaseUse): Finding {
  const check = 'schema';
  if (schemaProblem === undefined) return { check, state: 'ok', found: 'it is up to date' };
  if (migrate === 'auto') {
    const advice =
      'the next server that starts migrates an older schema; a newer schema requires the version that created it';
    return { check, state: 'warning', found: schemaProblem, advice };
  }
  return {
    check,
    state: 'failed',
    found: schemaProblem,
    advice: 'run `signet store migrate` before a server is started',
  };
}

function checkConnections(facts: DatabaseFacts, { workers, poolSize, listen }: DatabaseUse): Finding {
  const check = 'connections';
  const { connections, usedByOthers, processes } = facts;
  const each = poolSize + (listen ? 1 : 0);
  const advice = 'raise `max_connections` of the database, lower `store.postgres.poolSize`, or use a connection pooler';
  const own = workers * each;
  const here = `${workers} ${workers === 1 ? 'process' : 'processes'} with ${each} connections each`;
  if (own > connections) {
    return { check, state: 'failed', found: `${here} need ${own} of the ${connections} that there are`, advice };
  }
  const known = Math.max(processes, workers);
  const all = known * each + usedByOthers;
  if (all > connections) {
    const found = `${known} processes of servers may need ${known * each}, and others use ${usedByOthers}, of the ${connections} that there are`;
    return { check, state: 'warning', found, advice };
  }
  return { check, state: 'ok', found: `at most ${all} of ${connections} are needed` };
}

function checkDurability({ synchronousStandbys, synchronousCommit, standbys }: DatabaseFacts): readonly Finding[] {
  const check = 'standbys';
  const connected = `${standbys} ${standbys === 1 ? 'standby is' : 'standbys are'} connected`;
  if (synchronousCommit === 'off' || synchronousCommit === 'local') {
    const found = `${connected}, and \`synchronous_commit\` is ${synchronousCommit}: changes that were acknowledged can be lost`;
    return [{ check, state: 'warning', found, advice: 'set `synchronous_commit` to on for the user of the servers' }];
  }
  if (synchronousStandbys.trim() === '') {
    const found = `${connected}, none of them synchronous: changes that were acknowledged can be lost at a failover`;
    const advice =
      'name two or more in `synchronous_standby_names`, e.g. `ANY 1 (a, b)`, or accept the loss with `signet store new-epoch` after a failover';
    return [{ check, state: 'warning', found, advice }];
  }
  if (standbys === 0) {
    const found = `no standby is connected, and \`synchronous_standby_names\` requires some: changes wait for them`;
    return [{ check, state: 'failed', found, advice: 'check the standbys and the log of the database' }];
  }
  return [{ check, state: 'ok', found: `${connected}; changes wait for \`${synchronousStandbys}\`` }];
}
