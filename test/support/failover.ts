import { X509Certificate } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { PostgresSettings } from '@signet/server/config/store-place';
import type pg from 'pg';
import { field, json } from './instance-world.ts';
import { loadDomains } from './mixed-load.ts';
import { readinessOf } from './operators.ts';
import { followers, type PostgresServer, startPostgres, startStandby, waitForStandby } from './postgres.ts';
import { ecPair, requestPem } from './requests.ts';
import { type Installation, install, type Serving, serve } from './signet-program.ts';
import { type Caller, type Ending, form } from './start-server.ts';
import { until } from './until.ts';

/** A database that survives the loss of its primary. */
export interface Cluster {
  readonly settings: PostgresSettings;
  /** Ends the primary and all that it runs at once; fulfilled when another server is the primary, with the time when it was. */
  lose(): Promise<number>;
  /** Makes it ready for the next loss. */
  repair(): Promise<void>;
  /** Runs a statement on the primary. */
  query<Row extends pg.QueryResultRow>(text: string): Promise<Row[]>;
}

/** Two servers. `sync`: what the primary acknowledges, its standby has. */
export interface Pair extends Cluster {
  primary(): PostgresServer;
  standby(): PostgresServer;
}

export async function startPair(
  t: Ending,
  kind: 'sync' | 'async',
  changed: Partial<PostgresSettings> = {},
): Promise<Pair> {
  let primary = await startPostgres(t);
  const database = await primary.createDatabase('icu-en-US');
  let standby = await startStandby(t, primary);
  if (kind === 'sync') await waitForStandby(primary);
  return {
    settings: primary.settings(database, {
      hosts: [primary.host, standby.host],
      connectTimeoutMs: 2000,
      listen: true,
      ...changed,
    }),
    primary: () => primary,
    standby: () => standby,
    query: (text) => primary.query(database, text),
    lose: async () => {
      await primary.kill();
      await standby.promote();
      [primary, standby] = [standby, primary];
      return performance.now();
    },
    repair: async () => {
      await standby.follow(primary);
      if (kind === 'sync') await waitForStandby(primary);
      else await until('the standby follows', async () => (await followers(primary)) > 0);
    },
  };
}

/** Two real servers on a cluster. */
export interface FailoverWorld {
  readonly cluster: Cluster;
  readonly installation: Installation;
  readonly servings: readonly Serving[];
}

export async function startFailover(t: Ending, cluster: Cluster): Promise<FailoverWorld> {
  const more = 'snapshot: { refreshIntervalMs: 500 }';
  const installation = await install(t, { domains: loadDomains, store: cluster.settings, more });
  const servings = [await serve(t, installation), await serve(t, installation)];
  return { cluster, installation, servings };
}

/** Answers that callers got, of all servers. */
export interface Told {
  readonly roles: string[];
  readonly certificates: string[];
  readonly revoked: string[];
  /** When each server last acknowledged a change. */
  readonly lastChange: number[];
  /** Changes refused with 503 and `Retry-After`. */
  refused: number;
  /** Tokens, access checks and revocation lists. */
  reads: number;
  /** Violations. */
  readonly problems: string[];
}

export interface FailoverLoad {
  readonly told: Told;
  /** Fulfilled when nothing is under way any more. */
  stop(): Promise<void>;
}

const token = form({ grant_type: 'client_credentials', scope: 'catalog:domain' });

/** Changes, certificates, revocations, tokens, access checks and revocation lists of both servers, until `stop`. */
export async function startFailoverLoad({ installation, servings }: FailoverWorld): Promise<FailoverLoad> {
  const told: Told = {
    roles: [],
    certificates: [],
    revoked: [],
    lastChange: servings.map(() => 0),
    refused: 0,
    reads: 0,
    problems: [],
  };
  let isOver = false;
  const steps: (() => Promise<void>)[] = [() => revokeOne(installation, told)];
  for (const [server, serving] of servings.entries()) {
    const as = async (who: string) => serving.as(await installation.pki.identity(who));
    for (const lane of ['a', 'b']) steps.push(changeRoles(await as('sys.auth.operator'), told, { server, lane }));
    steps.push(issueCertificates(await as('media.player'), told), ask(await as('media.player'), told));
  }
  const loops = steps.map(async (step) => {
    while (!isOver) {
      await step().catch((error) => told.problems.push(`no answer: ${String(error)}`));
      await pause(5);
    }
  });
  return {
    told,
    stop: async () => {
      isOver = true;
      await Promise.all(loops);
    },
  };
}

function changeRoles(operator: Caller, told: Told, { server, lane }: { server: number; lane: string }) {
  let count = 0;
  return async () => {
    count += 1;
    const name = `s${server}${lane}${count}`;
    const answer = await operator(
      `^/management/v1/domains/load/roles/${name}`,
      json({ members: ['media.player'] }, 'PUT'),
    );
    if (answer.status === 201) {
      told.roles.push(name);
      told.lastChange[server] = performance.now();
    } else noteRefusal(told, `role ${name}`, answer);
  };
}

function noteRefusal(told: Told, what: string, { status, headers, text }: Awaited<ReturnType<Caller>>): void {
  if (status === 503 && Number(headers['retry-after']) > 0) told.refused += 1;
  else told.problems.push(`${what}: ${status} ${text}`);
}

function issueCertificates(player: Caller, told: Told) {
  const csr = requestPem(ecPair(), { commonNames: ['catalog:role.reader'] });
  return async () => {
    const answer = await player('/domain/catalog/role/reader/token', json({ csr }));
    if (answer.status !== 200 && answer.status !== 201) return noteRefusal(told, 'certificate', answer);
    const { serialNumber } = new X509Certificate(String(field(answer.body, 'token')));
    told.certificates.push(serialNumber.toLowerCase());
  };
}

/** By the command, which finds the primary by itself. */
async function revokeOne(installation: Installation, told: Told): Promise<void> {
  const serial = told.certificates[told.revoked.length];
  if (serial === undefined) return;
  const { status } = await installation.signet('certificate', 'revoke', serial);
  if (status === 0) told.revoked.push(serial);
}

/** Requests that a server answers from memory, without interruption. */
function ask(player: Caller, told: Told) {
  let known = 0;
  return async () => {
    for (const [path, options] of [
      ['/oauth2/token', token],
      ['/access/read/catalog:movie', undefined],
      ['/domain/catalog/policy/signed', undefined],
      ['/oauth2/keys', undefined],
    ] as const) {
      const { status, text } = await player(path, options);
      told.reads += 1;
      if (status !== 200) told.problems.push(`${path}: ${status} ${text}`);
    }
    const { status, text } = await player('/crl');
    if (status !== 200) return;
    const number = crlNumber(text);
    if (number < known) told.problems.push(`list ${number} after list ${known}`);
    known = number;
  };
}

/** CRL number; its bytes are found by those before them. */
function crlNumber(pem: string): number {
  const der = Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  const at = der.indexOf(Buffer.from('0603551d14', 'hex'));
  const length = der[at + 8] ?? 0;
  return at < 0 ? Number.NaN : der.readUIntBE(at + 9, length);
}

/** Loses the primary under load. Answers how long after the promotion the last of the servers took its first change, in milliseconds. */
export async function loseOnce({ cluster }: FailoverWorld, { told }: FailoverLoad): Promise<number> {
  const before = told.roles.length;
  await until('changes are made', () => told.roles.length >= before + 10);
  const first: (number | undefined)[] = told.lastChange.map(() => undefined);
  const promoted = await cluster.lose();
  await until('every server takes changes again', () => {
    for (const [server, at] of told.lastChange.entries()) if (at > promoted) first[server] ??= at;
    return first.every((at) => at !== undefined);
  });
  await cluster.repair();
  return Math.max(...first.map((at) => (at ?? 0) - promoted));
}

/** Differences from the acknowledged state, in words; the database and the servers are asked. */
export async function faultsAfter({ cluster, installation, servings }: FailoverWorld, told: Told): Promise<string[]> {
  const faults = [...told.problems];
  const missing = async (what: string, names: readonly string[], text: string) => {
    const there = new Set((await cluster.query<{ name: string }>(text)).map(({ name }) => name));
    for (const name of names) if (!there.has(name)) faults.push(`lost ${what} ${name}`);
  };
  await missing('role', told.roles, "select name from roles where domain = 'load'");
  await missing('certificate', told.certificates, 'select lower(serial) as name from certificates');
  await missing(
    'revocation',
    told.revoked,
    'select lower(serial) as name from certificates where revoked_at is not null',
  );
  for (const [what, table, column] of [
    ['versions', "audit where subject ~ '^load(:|$)'", 'version'],
    ['revocation numbers', 'certificates', 'revocation_sequence'],
    ['change numbers', 'changes', 'seq'],
  ] as const) {
    const [row] = await cluster.query<{ gaps: number }>(
      `select coalesce(max(${column}) - min(${column}) + 1 - count(distinct ${column}), 0)::int as gaps from ${table}`,
    );
    if (row?.gaps !== 0) faults.push(`${row?.gaps} gaps in ${what}`);
  }
  const verified = await installation.signet('audit', 'verify');
  if (verified.status !== 0) faults.push(`audit verify: ${verified.stderr}`);
  for (const [server, serving] of servings.entries()) {
    const { code, diverged } = await readinessOf(serving, installation.pki);
    if (code !== 200 || diverged !== undefined) faults.push(`server ${server}: ${code} ${JSON.stringify(diverged)}`);
    if (/store-diverged|uncaught/i.test(serving.errors())) faults.push(`server ${server} said ${serving.errors()}`);
  }
  return faults;
}
