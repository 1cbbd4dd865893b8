import { X509Certificate } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { readDocumentFolder } from '@signet/server/management/documents/read-folder';
import type { Store } from '@signet/server/model/store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { assertWithin } from '#support/cost';
import { type DevWorld, startDevWorld } from '#support/dev-world';
import { domainContent } from '#support/domain-sketch';
import { operatorsDomain, readinessOf } from '#support/operators';
import type { Finished } from '#support/run-program';
import { saveDomain } from '#support/save-domain';
import { install, serve } from '#support/signet-program';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

/*
 * The store of a running server becomes one with another history, as after a failover that lost changes: a copy of before, which was changed in
 * another way, as often as the one that is lost. An operator ends it by a new epoch, and hosts follow.
 */

interface Bundle {
  readonly epoch: number;
  readonly version: number;
  readonly text: string;
}

/** Bundle on the host. */
function onDisk({ state }: DevWorld): Bundle {
  const { payload } = JSON.parse(readFileSync(join(state.policyDir, 'catalog.pol'), 'utf8'));
  const text = Buffer.from(payload, 'base64url').toString();
  const { epoch, version } = JSON.parse(text);
  return { epoch, version, text };
}

async function follow(world: DevWorld, what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
  await until(what, () => {
    process.kill(world.state.updaterPid, 'SIGUSR1');
    return isSo();
  });
}

/** Works on the store of the server (`data`) or on the other one, as commands beside the server do. */
async function withStore<Result>(
  { folder }: Pick<DevWorld, 'folder'>,
  data: 'data' | 'other',
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await openSqliteStore(join(folder, data, 'signet.db'));
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Applies one change of the domain's document. */
async function apply(
  t: ExecutionContext,
  world: DevWorld,
  data: 'data' | 'other',
  [domain, document]: readonly [domain: string, document: string],
): Promise<void> {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, `${domain}.yaml`), document);
  const by = { actor: 'test' };
  await withStore(world, data, (store) =>
    applyDocuments(store, readDocumentFolder(folder), by, { now: systemClock.now() }),
  );
}

/** Changes the policies of `catalog`. */
function allowReading(t: ExecutionContext, world: DevWorld, data: 'data' | 'other', resource: string): Promise<void> {
  const policies = readFileSync(new URL('../../../policies/catalog.yaml', import.meta.url), 'utf8');
  const more = `policies:\n  more:\n    - { action: read, resource: ${resource}, role: reader }`;
  return apply(t, world, data, ['catalog', policies.replace('policies:', more)]);
}

interface Served {
  readonly folder: string;
  signet(...args: readonly string[]): Promise<Finished>;
}

/** A second store, of a backup, beside the one that is served. */
async function copyStore(t: ExecutionContext, { folder, signet }: Served): Promise<void> {
  const backup = join(temporaryFolder(t), 'backup');
  const { status, stderr } = await signet('backup', backup);
  t.is(status, 0, stderr);
  mkdirSync(join(folder, 'other'), { mode: 0o700 });
  copyFileSync(backup, join(folder, 'other/signet.db'));
}

/** The servers stand still, and do not see half of it. */
function failOver(folder: string, servers: readonly number[]): void {
  const at = (data: string, suffix: string) => join(folder, data, `signet.db${suffix}`);
  for (const pid of servers) process.kill(pid, 'SIGSTOP');
  try {
    for (const suffix of ['-wal', '-shm']) rmSync(at('data', suffix), { force: true });
    for (const suffix of ['', '.witness']) renameSync(at('other', suffix), at('data', suffix));
  } finally {
    for (const pid of servers) process.kill(pid, 'SIGCONT');
  }
}

async function readiness(world: DevWorld) {
  const { status, body } = await world.curl('sys.auth.operator', `${world.state.baseUrl}/readyz`);
  return { code: status, ...JSON.parse(body) };
}

test.serial('another history is told, hosts keep what they have, and a new epoch ends it', async (t) => {
  t.timeout(120_000);
  const world = await startDevWorld();
  t.teardown(() => world.remove());
  const signet = (...args: readonly string[]) => world.signet(...args, '--config', join(world.folder, 'signet.yaml'));
  const logged = (name: string) => readFileSync(join(world.folder, 'logs', name), 'utf8');
  const stolen = world.state.identities['media.guest'] ?? { cert: '', key: '' };
  const { serialNumber } = new X509Certificate(readFileSync(stolen.cert));
  const askAs = async (identity: string) => (await world.curl(identity, `${world.state.baseUrl}/oauth2/keys`)).status;
  const token = async () => {
    const scope = 'grant_type=client_credentials&scope=catalog:role.reader';
    return (await world.curl('media.player', '-d', scope, `${world.state.baseUrl}/oauth2/token`)).status;
  };
  await copyStore(t, { folder: world.folder, signet });
  const old = onDisk(world);

  await allowReading(t, world, 'data', 'lost-films');
  await follow(world, 'the host has what will be lost', () => onDisk(world).text.includes('lost-films'));
  const lost = onDisk(world);
  t.true(lost.version > old.version);
  const revoked = await signet('certificate', 'revoke', serialNumber);
  t.is(revoked.status, 0, revoked.stderr);
  await until('the certificate is refused', async () => (await askAs('media.guest')) === 401);

  // As many changes, and the same version of the domain.
  await allowReading(t, world, 'other', 'kept-films');
  await apply(t, world, 'other', ['films', 'domain: films\n']);
  t.is(await token(), 200);
  const before = await readiness(world);
  t.is(before.diverged, undefined);
  failOver(world.folder, [world.state.serverPid]);

  await until('it is noticed', async () => (await readiness(world)).diverged);
  const during = await readiness(world);
  t.like(during, { code: 200, status: 'ready', store: 'readable' }, 'it goes on');
  const { known, found } = during.diverged;
  t.deepEqual([known.epoch, found.epoch, known.counter], [1, 1, before.snapshot.counter]);
  t.is(found.counter, known.counter, 'by the counter nobody would notice');
  t.not(known.head, found.head);
  t.false((await world.curl(undefined, `${world.state.baseUrl}/readyz`)).body.includes('diverged'), 'for operators');
  await until('the log says so', () => /"level":"error".*store-diverged: /.test(logged('token-server.log')));
  await until('and what to revoke again', () =>
    logged('token-server.log').toLowerCase().includes(serialNumber.toLowerCase()),
  );
  t.is(await token(), 200);
  t.is(await askAs('media.player'), 200);
  assertWithin(t, 'revoked certificates that count again', Number((await askAs('media.guest')) !== 401), 0);

  await follow(world, 'the updater refuses another text under the same version', () =>
    logged('updater.log').includes('bundle has different policies than one accepted before'),
  );
  t.deepEqual(onDisk(world), lost, 'the host keeps what it has');

  const begun = await signet('store', 'new-epoch', '--reason', 'the database failed over', '--json');
  t.is(begun.status, 0, begun.stderr);
  t.deepEqual(JSON.parse(begun.stdout), { epoch: 2 });
  await until('the server follows without a restart', async () => (await readiness(world)).diverged === undefined);
  await follow(world, 'the host has the bundle of the new epoch', () => onDisk(world).epoch === 2);
  t.true(onDisk(world).text.includes('kept-films'));
  t.false(onDisk(world).text.includes('lost-films'));
  await until('the engine decides by it', async () => {
    const { policy } = JSON.parse((await world.curl(undefined, `${world.state.providerUrl}/healthz`)).body);
    return JSON.stringify(policy.domains).includes('"epoch":2');
  });
  t.is(await askAs('media.guest'), 401);
  t.is((await signet('certificate', 'revoke', serialNumber)).status, 0, 'it is revoked again');
  t.is(await askAs('media.guest'), 401);
  const { records, fault } = await withStore(world, 'data', async (store) => {
    return { records: await store.audit({ limit: 2 }), fault: (await store.verifyAudit()).fault };
  });
  t.like(records[1], { action: 'new-epoch', subject: 'store', reason: 'the database failed over' });
  t.is(fault, undefined);
});

const servers = 3;

test.serial('servers that are told to begin an epoch by themselves begin one', async (t) => {
  t.timeout(120_000);
  const more = 'store: { onDivergence: new-epoch }\nsnapshot: { refreshIntervalMs: 100 }\n';
  const installation = await install(t, { domains: [operatorsDomain, { name: 'a' }], more });
  const { folder, pki } = installation;
  const save = (data: 'data' | 'other', name: string) =>
    withStore(installation, data, (store) =>
      store.change({ actor: 'test' }, (change) => saveDomain(change, domainContent({ name }))),
    );
  const first = await serve(t, installation);
  const others = await Promise.all(Array.from({ length: servers - 1 }, () => serve(t, installation)));
  const all = [first, ...others];
  await copyStore(t, installation);
  await save('data', 'lost');
  await save('other', 'kept');
  const { counter } = await withStore(installation, 'data', (store) => store.state());
  const sees = (isSo: (state: Readonly<Record<string, unknown>>) => boolean) => async () => {
    const states = await Promise.all(all.map((serving) => readinessOf(serving, pki)));
    return states.every(isSo);
  };
  await until(
    'all know what will be lost',
    sees(({ snapshot }) => Object(snapshot).counter === counter),
  );
  failOver(
    folder,
    all.map(({ pid }) => pid),
  );
  await until('one has begun an epoch', async () => {
    return (await withStore(installation, 'data', (store) => store.state())).epoch > 1;
  });
  await until(
    'all follow',
    sees(({ diverged, snapshot }) => diverged === undefined && Object(snapshot).counter > counter),
  );
  // Who looks when it is over already is told of the epoch alone.
  await until('the log says so', () => all.some((serving) => serving.errors().includes('store-diverged: ')));
  const { state, records } = await withStore(installation, 'data', async (store) => {
    return { state: await store.state(), records: await store.audit({ limit: 10 }) };
  });
  const begun = records.filter(({ action }) => action === 'new-epoch');
  assertWithin(t, `epochs begun by ${servers} servers`, begun.length, 1);
  t.like(state, { epoch: 2, counter: counter + 1 });
  t.like(begun[0], { actor: 'signet serve' });

  const begin = (...args: readonly string[]) => installation.signet('store', 'new-epoch', '--json', ...args);
  t.is((await begin()).status, 2, 'without a reason');
  t.is((await begin('--reason', 'a test', '--above', '0')).status, 2);
  t.deepEqual(JSON.parse((await begin('--reason', 'a test', '--above', '7')).stdout), { epoch: 8 });
});
