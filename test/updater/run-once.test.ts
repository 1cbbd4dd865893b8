import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkBundle, localKeys } from '@signet/updater/check-bundle';
import type { UpdaterConfig } from '@signet/updater/config/config';
import { nodeFileSystem } from '@signet/updater/files/file-system';
import { State } from '@signet/updater/state';
import { policyDirectory } from '@signet/updater/updater';
import test from 'ava';
import { answer } from '../client/support/tls-server.ts';
import { kinds, makeSigningKey, serve, type UpdaterWorld, updaterWorld } from './support/world.ts';

const day = 86_400_000;

test('fetches, verifies and writes policy, keys, state and status, readable by everyone', async (t) => {
  const world = await updaterWorld(t, ['catalog', 'media']);
  const catalog = await world.publish({ version: 3 });
  const media = await world.publish({ domain: 'media', version: 8, epoch: 2 });
  const report = await world.runOnce();
  t.deepEqual(kinds(report), { catalog: 'updated', media: 'updated' });
  t.is(report.exitStatus, 0);
  t.is(world.read('catalog.pol'), catalog);
  t.is(world.read('media.pol'), media);
  t.deepEqual(JSON.parse(world.read('keys.json') ?? ''), {
    issuer: 'https://issuer.example/v1',
    keys: world.published,
  });
  t.like(JSON.parse(world.read('state.json') ?? ''), {
    floors: { catalog: { epoch: 1, version: 3 }, media: { epoch: 2, version: 8 } },
  });
  t.deepEqual(JSON.parse(world.read('status.json') ?? '').domains.catalog, {
    outcome: 'updated',
    lastAttempt: '2026-01-01T00:00:00.000Z',
    lastSuccess: '2026-01-01T00:00:00.000Z',
    failures: 0,
    epoch: 1,
    version: 3,
    issued: '2026-01-01T00:00:00.000Z',
    expires: '2026-01-08T00:00:00.000Z',
    kid: 'bundle-1',
  });
  for (const name of ['catalog.pol', 'keys.json', 'state.json', 'status.json']) t.is(world.mode(name), 0o644);
  t.is(world.mode('.'), 0o755);
  t.deepEqual(readdirSync(world.policyDir).sort(), [
    '.updater-lock.db',
    'catalog.pol',
    'keys.json',
    'media.pol',
    'state.json',
    'status.json',
  ]);
});

test('asks conditionally, also after a restart, over one connection', async (t) => {
  const world = await updaterWorld(t);
  const served = await world.publish({ version: 1 });
  const updater = await world.open();
  await updater.run();
  t.deepEqual(kinds(await updater.run()), { catalog: 'unchanged' });
  t.deepEqual([...new Set(world.server.requests.map((request) => request.connection))], [1]);
  await updater.close();
  t.deepEqual(kinds(await world.runOnce()), { catalog: 'unchanged' });
  t.deepEqual(world.bundleRequests(), ['catalog -', 'catalog "1.1"', 'catalog "1.1"']);
  t.is(world.read('catalog.pol'), served);
});

test('the files of the directory are not gone through for each domain', async (t) => {
  const world = await updaterWorld(t, ['catalog', 'media', 'sports']);
  await world.publish({ version: 1 });
  let searches = 0;
  const list = async (path: string) => {
    const names = await nodeFileSystem.list(path);
    const includes = (name: string) => {
      searches += 1;
      return names.indexOf(name) >= 0;
    };
    return Object.assign([...names], { includes });
  };
  t.is(kinds(await world.runOnce({ ...nodeFileSystem, list }))['catalog'], 'updated');
  t.is(searches, 0);
});

interface Refusal {
  readonly note: string;
  /** Content that the server serves after version 5 was accepted. */
  readonly serve: (world: UpdaterWorld) => Promise<string | Uint8Array>;
  readonly change?: Partial<UpdaterConfig>;
  readonly reason: string;
}

const stranger = makeSigningKey('bundle-1');

const refusals: readonly Refusal[] = [
  {
    note: 'an older version',
    serve: async (world) => JSON.stringify(await world.sign({ version: 4 })),
    reason: 'bundle-rollback',
  },
  {
    note: 'an older epoch with a higher version',
    serve: async (world) => JSON.stringify(await world.sign({ epoch: 0, version: 99 })),
    reason: 'bundle-rollback',
  },
  {
    note: 'other policies under the version that was accepted',
    serve: async (world) => JSON.stringify(await world.sign({ version: 5, entity: 'series' })),
    reason: 'bundle-equivocation',
  },
  {
    note: 'other policies under the version that was accepted, with the member `header` of the older operation or without',
    serve: async (world) => {
      const { header: _, ...bundle } = await world.sign({
        version: 5,
        entity: 'series',
        issued: world.clock.now() + 1,
      });
      return JSON.stringify(bundle);
    },
    reason: 'bundle-equivocation',
  },
  {
    note: 'an issue before the last one',
    serve: async (world) => JSON.stringify(await world.sign({ version: 5, issued: world.clock.now() - 60_001 })),
    reason: 'bundle-issued-earlier',
  },
  {
    note: 'a newer version that was issued before the last one',
    serve: async (world) => JSON.stringify(await world.sign({ version: 6, issued: world.clock.now() - 60_001 })),
    reason: 'bundle-issued-earlier',
  },
  {
    note: 'a version that would shut out every honest one',
    serve: async (world) => JSON.stringify(await world.sign({ version: Number.MAX_SAFE_INTEGER })),
    reason: 'bundle-version-jump',
  },
  {
    note: 'an epoch that would shut out every honest one',
    serve: async (world) => JSON.stringify(await world.sign({ epoch: Number.MAX_SAFE_INTEGER })),
    reason: 'bundle-version-jump',
  },
  {
    note: 'a life of more than 90 days',
    serve: async (world) => JSON.stringify(await world.sign({ version: 6, expires: world.clock.now() + 90 * day + 1 })),
    reason: 'bundle-lifetime',
  },
  {
    note: "another domain's bundle",
    serve: async (world) => JSON.stringify(await world.sign({ domain: 'media', version: 9 })),
    reason: 'bundle-domain',
  },
  {
    note: 'a truncated bundle',
    serve: async (world) => JSON.stringify(await world.sign({ version: 6 })).slice(0, -40),
    reason: 'bundle-malformed',
  },
  { note: 'nothing', serve: async () => '', reason: 'bundle-malformed' },
  {
    note: 'an unsigned bundle',
    serve: async (world) => JSON.stringify({ ...(await world.sign({ version: 6 })), signature: '' }),
    reason: 'bundle-signature',
  },
  {
    note: 'the signature of another bundle',
    serve: async (world) => {
      const [bundle, other] = [await world.sign({ version: 6 }), await world.sign({ version: 7 })];
      return JSON.stringify({ ...bundle, signature: other.signature });
    },
    reason: 'bundle-signature',
  },
  {
    note: 'a bundle signed with a key that only has the right name',
    serve: async (world) => JSON.stringify(await world.sign({ version: 6, key: stranger })),
    reason: 'bundle-signature',
  },
  {
    note: 'a bundle signed with a key that is not published',
    serve: async (world) => JSON.stringify(await world.sign({ version: 6, key: makeSigningKey('bundle-9') })),
    reason: 'bundle-key-unknown',
  },
  {
    note: 'an expired bundle',
    serve: async (world) =>
      JSON.stringify(await world.sign({ version: 6, issued: world.clock.now() - 8 * day, expires: world.clock.now() })),
    reason: 'bundle-expired',
  },
  {
    note: 'a bundle of the future',
    serve: async (world) => JSON.stringify(await world.sign({ version: 6, issued: world.clock.now() + day })),
    reason: 'bundle-not-yet-valid',
  },
  {
    note: 'a bundle that is too large',
    serve: async (world) => JSON.stringify(await world.sign({ version: 6, padding: 2 << 20 })),
    change: { maxBundleBytes: 1 << 20 },
    reason: 'response-too-large',
  },
];

for (const { note, serve: make, change, reason } of refusals) {
  test(`refuses ${note}, keeps the good one and says so`, async (t) => {
    const world = await updaterWorld(t, ['catalog', 'media']);
    const good = await world.publish({ version: 5 });
    await world.publish({ domain: 'media' });
    await world.runOnce();
    world.answers.set('catalog', serve(await make(world), '"next"'));
    await world.publish({ domain: 'media', version: 2 });
    world.clock.advance(60_000);
    const report = await world.runOnce(undefined, change);
    t.deepEqual(kinds(report), { catalog: 'rejected', media: 'updated' });
    t.is(report.exitStatus, 5);
    t.is(world.read('catalog.pol'), good);
    t.like(JSON.parse(world.read('status.json') ?? '').domains.catalog, {
      outcome: 'rejected',
      reason,
      failures: 1,
      version: 5,
      lastAttempt: '2026-01-01T00:01:00.000Z',
      lastSuccess: '2026-01-01T00:00:00.000Z',
    });
    // the refused bundle left no trace: the good one is confirmed by its own tag
    await world.publish({ version: 5 });
    t.deepEqual(kinds(await world.runOnce()), { catalog: 'unchanged', media: 'unchanged' });
  });
}

test('a renewal, a new signing key and a time of change are no other policies', async (t) => {
  const world = await updaterWorld(t);
  const next = makeSigningKey('bundle-2');
  world.published.push(next.jwk);
  await world.publish({ version: 5 });
  await world.runOnce();
  const held = () => JSON.parse(world.read('state.json') ?? '').floors.catalog;
  const { digest } = held();
  world.clock.advance(6 * day);
  const renewed = JSON.stringify(await world.sign({ version: 5, key: next, expires: world.clock.now() + 90 * day }));
  world.answers.set('catalog', serve(renewed, '"renewed"'));
  t.deepEqual(kinds(await world.runOnce()), { catalog: 'updated' });
  t.is(world.read('catalog.pol'), renewed);
  t.deepEqual(held(), { epoch: 1, version: 5, digest, issued: '2026-01-07T00:00:00.000Z' });
});

test('a state of an earlier program, without times and digests, is taken over', async (t) => {
  const world = await updaterWorld(t);
  await world.publish({ version: 5 });
  await world.runOnce();
  const state = JSON.parse(world.read('state.json') ?? '');
  const whole = state.floors.catalog;
  writeFileSync(
    join(world.policyDir, 'state.json'),
    JSON.stringify({ ...state, floors: { catalog: { epoch: 1, version: 5 } } }),
  );
  world.answers.set('catalog', serve(JSON.stringify(await world.sign({ version: 5 })), '"again"'));
  t.like(await world.runOnce(), { exitStatus: 0 });
  t.deepEqual(JSON.parse(world.read('state.json') ?? '').floors.catalog, whole);
});

test('a bundle put in the place of the accepted one under the same version is bad, and replaced', async (t) => {
  const world = await updaterWorld(t);
  const served = await world.publish({ version: 5 });
  await world.runOnce();
  writeFileSync(
    join(world.policyDir, 'catalog.pol'),
    JSON.stringify(await world.sign({ version: 5, entity: 'series' })),
  );
  const directory = policyDirectory(world.config);
  const [keys, state] = [await localKeys(directory), await State.load(directory)];
  const [domain = never()] = world.config.domains;
  const check = () => checkBundle({ directory, keys, state, maxBundleBytes: 1 << 20 }, domain, world.clock.now());
  t.like(await check(), { state: 'bad', reason: 'bundle-equivocation' });
  t.deepEqual(kinds(await world.runOnce()), { catalog: 'updated' });
  t.is(world.read('catalog.pol'), served);
  t.like(await check(), { state: 'good' });
});

const floors: readonly { note: string; tamper: (world: UpdaterWorld) => void }[] = [
  { note: 'after a restart', tamper: () => undefined },
  { note: 'after the state file was deleted', tamper: (world) => rmSync(join(world.policyDir, 'state.json')) },
  {
    note: 'after the state file was damaged',
    tamper: (world) => writeFileSync(join(world.policyDir, 'state.json'), '{'),
  },
  { note: 'after the bundle was deleted', tamper: (world) => rmSync(join(world.policyDir, 'catalog.pol')) },
  { note: 'after the bundle was damaged', tamper: (world) => writeFileSync(join(world.policyDir, 'catalog.pol'), 'x') },
];

for (const { note, tamper } of floors) {
  test(`never goes back to an older version: ${note}`, async (t) => {
    const world = await updaterWorld(t);
    await world.publish({ version: 5 });
    await world.runOnce();
    tamper(world);
    await world.publish({ version: 4 });
    const report = await world.runOnce();
    t.like(report.outcomes.get(world.config.domains[0] ?? never()), { kind: 'rejected', reason: 'bundle-rollback' });
    const served = await world.publish({ version: 6 });
    t.deepEqual(kinds(await world.runOnce()), { catalog: 'updated' });
    t.is(world.read('catalog.pol'), served);
  });
}

function never(): never {
  throw new Error('no domain is configured');
}

test('an older bundle put in place of the newer one is replaced, whatever its tag', async (t) => {
  const world = await updaterWorld(t);
  const old = await world.publish({ version: 1 });
  await world.runOnce();
  const served = await world.publish({ version: 2 });
  await world.runOnce();
  writeFileSync(join(world.policyDir, 'catalog.pol'), old);
  t.deepEqual(kinds(await world.runOnce()), { catalog: 'updated' });
  t.is(world.read('catalog.pol'), served);
  t.deepEqual(world.bundleRequests(), ['catalog -', 'catalog "1.1"', 'catalog -']);
});

test('a bundle in the last quarter of its life is fetched whole', async (t) => {
  const world = await updaterWorld(t);
  await world.publish({ version: 1 });
  await world.runOnce();
  world.clock.advance(5.25 * day - 1);
  await world.runOnce();
  world.clock.advance(1);
  await world.runOnce();
  t.deepEqual(world.bundleRequests(), ['catalog -', 'catalog "1.1"', 'catalog -']);
});

test('an expired bundle on disk is replaced by the same version, signed again', async (t) => {
  const world = await updaterWorld(t);
  await world.publish({ version: 1 });
  await world.runOnce();
  world.clock.advance(8 * day);
  t.deepEqual(kinds(await world.runOnce()), { catalog: 'rejected' });
  const served = await world.publish({ version: 1 });
  t.deepEqual(kinds(await world.runOnce()), { catalog: 'updated' });
  t.is(world.read('catalog.pol'), served);
});

test('a domain that is no longer served keeps its bundle and says so', async (t) => {
  const world = await updaterWorld(t, ['catalog', 'media']);
  const served = await world.publish();
  await world.publish({ domain: 'media' });
  await world.runOnce();
  world.answers.delete('catalog');
  const report = await world.runOnce();
  t.deepEqual(kinds(report), { catalog: 'refused', media: 'unchanged' });
  t.is(report.exitStatus, 1);
  t.is(world.read('catalog.pol'), served);
  t.like(report.status.domains['catalog'], {
    reason: 'status-404',
    error: 'the server answered 404: not found',
    version: 1,
  });
});

test('a domain that is no longer configured keeps its bundle and is named', async (t) => {
  const world = await updaterWorld(t, ['catalog', 'media']);
  await world.publish();
  const media = await world.publish({ domain: 'media' });
  await world.runOnce();
  const report = await world.runOnce(undefined, { domains: world.config.domains.slice(0, 1) });
  t.deepEqual(report.status.unconfigured, ['media']);
  t.is(world.read('media.pol'), media);
});

test('a server that is away changes nothing and is told apart', async (t) => {
  const world = await updaterWorld(t, ['catalog', 'media', 'other']);
  const served = await world.publish();
  for (const domain of ['media', 'other']) await world.publish({ domain });
  await world.runOnce();
  await world.server.close();
  const report = await world.runOnce();
  t.deepEqual(kinds(report), { catalog: 'unreachable', media: 'unreachable', other: 'unreachable' });
  t.is(report.exitStatus, 3);
  t.is(world.read('catalog.pol'), served);
  t.is(report.status.domains['catalog']?.version, 1);
});

test('a server without a usable key, at the first run, is the error of every domain', async (t) => {
  const world = await updaterWorld(t);
  await world.publish();
  world.published.length = 0;
  const report = await world.runOnce();
  t.like([...report.outcomes.values()][0], { kind: 'rejected', reason: 'keys-unavailable' });
  t.deepEqual(world.bundleRequests(), []);
});

test('bytes that drip end at the time-out, and the other domains are updated', async (t) => {
  const world = await updaterWorld(t, ['catalog', 'media']);
  world.answers.set('catalog', (_, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write(' '), 20);
    response.on('close', () => clearInterval(timer));
  });
  await world.publish({ domain: 'media' });
  const report = await world.runOnce(undefined, { readTimeoutMs: 5000 });
  t.deepEqual(kinds(report), { catalog: 'unreachable', media: 'updated' });
  t.is(report.status.domains['catalog']?.reason, 'timed-out');
});

test('a redirect is not followed', async (t) => {
  const world = await updaterWorld(t);
  world.answers.set('catalog', (_, response) => void response.writeHead(302, { location: '/elsewhere' }).end());
  const report = await world.runOnce();
  t.like([...report.outcomes.values()][0], { kind: 'rejected', reason: 'redirected' });
  t.deepEqual(world.bundleRequests(), ['catalog -']);
});

for (const code of [429, 503]) {
  test(`when the server asks by ${code} to come back later, the rest of the run waits too`, async (t) => {
    const world = await updaterWorld(t, ['catalog', 'media']);
    world.answers.set('catalog', (_, response) => answer(response, code, { code }, { 'retry-after': '120' }));
    await world.publish({ domain: 'media' });
    const report = await world.runOnce();
    t.deepEqual(kinds(report), { catalog: 'refused', media: 'postponed' });
    t.is(report.notBefore, world.clock.now() + 120_000);
    t.is(report.exitStatus, 1);
    t.deepEqual(world.bundleRequests(), ['catalog -']);
  });
}

test('what a killed run left behind is removed, and nothing else', async (t) => {
  const world = await updaterWorld(t);
  await world.publish();
  await world.runOnce();
  const at = (name: string) => join(world.policyDir, name);
  writeFileSync(at('.catalog.pol.0123456789abcdef.tmp'), 'half');
  writeFileSync(at('notes.txt'), 'mine');
  await world.runOnce();
  t.deepEqual(readdirSync(world.policyDir).sort(), [
    '.updater-lock.db',
    'catalog.pol',
    'keys.json',
    'notes.txt',
    'state.json',
    'status.json',
  ]);
});

test('what cannot be removed is told, and hinders no domain', async (t) => {
  const world = await updaterWorld(t);
  await world.publish();
  const updater = await world.open();
  mkdirSync(join(world.policyDir, '.catalog.pol.0123456789abcdef.tmp'));
  const report = await updater.run();
  t.deepEqual(kinds(report), { catalog: 'updated' });
  t.is(report.exitStatus, 4);
  t.regex(report.problems.join(), /^cannot clean policy directory `.*` \((EISDIR|EPERM)\)$/);
});

const oddities: readonly { note: string; put: (path: string, world: UpdaterWorld) => void }[] = [
  { note: 'a link to a file', put: (path, world) => symlinkSync(join(world.folder, 'victim'), path) },
  { note: 'a link to nowhere', put: (path) => symlinkSync('/nowhere/at/all', path) },
  { note: 'a pipe', put: (path) => void execFileSync('mkfifo', [path]) },
  { note: 'a folder', put: (path) => mkdirSync(path) },
];

for (const { note, put } of oddities) {
  test(`${note} in the place of a bundle stops that domain only, and is left alone`, async (t) => {
    const world = await updaterWorld(t, ['catalog', 'media']);
    const catalog = await world.publish();
    await world.publish({ domain: 'media' });
    const updater = await world.open();
    writeFileSync(join(world.folder, 'victim'), 'mine');
    const path = join(world.policyDir, 'catalog.pol');
    put(path, world);
    put(join(world.policyDir, 'other.pol'), world);
    const { ino } = lstatSync(path);
    const report = await updater.run();
    t.deepEqual(kinds(report), { catalog: 'unsafe', media: 'updated' });
    t.is(report.exitStatus, 2);
    t.like(report.status.domains['catalog'], {
      outcome: 'unsafe',
      reason: 'unsafe',
      failures: 1,
      error: `policy directory \`${world.policyDir}\` holds \`catalog.pol\`, which is not a plain file`,
    });
    t.deepEqual(world.bundleRequests(), ['media -']);
    t.is(lstatSync(path).ino, ino);
    t.is(readFileSync(join(world.folder, 'victim'), 'utf8'), 'mine');
    rmSync(path, { recursive: true });
    t.deepEqual(kinds(await updater.run()), { catalog: 'updated', media: 'unchanged' });
    t.is(world.read('catalog.pol'), catalog);
  });
}
