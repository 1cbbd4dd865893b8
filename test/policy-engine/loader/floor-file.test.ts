import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { type OpenOptions, PolicyEngine } from '@signet/policy-engine';
import { createTestAuthority, type TestBundleInput } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

/* A policy directory that something else than the updater fills: there is no `state.json`, only the floors that the engine keeps. */

function reading(version: number, epoch = 0): TestBundleInput {
  const assertions = [{ role: 'reader', action: 'read', resource: 'movie' }];
  return { domain: 'catalog', version, epoch, policies: [{ name: 'catalog:policy.p', assertions }] };
}

async function world(t: ExecutionContext) {
  const authority = await createTestAuthority();
  const dir = temporaryFolder(t);
  const floorFile = join(temporaryFolder(t), 'floors.json');
  const reported: string[] = [];
  /** An engine as after a restart. */
  const open = async (options: Partial<OpenOptions> = {}): Promise<PolicyEngine> => {
    const onError: OpenOptions['onError'] = (error, file) => void reported.push(`${file} ${error.code}`);
    const { clock } = authority;
    const engine = await PolicyEngine.open({ policyDir: dir, floorFile, clock, watch: false, onError, ...options });
    t.teardown(() => engine.close());
    return engine;
  };
  return {
    dir,
    floorFile,
    reported,
    open,
    put: (version: number, epoch = 0, policyDir = dir) => authority.writeBundle(policyDir, reading(version, epoch)),
    floor: (): unknown => {
      const { epoch, version } = JSON.parse(readFileSync(floorFile, 'utf8')).floors.catalog;
      return { epoch, version };
    },
    floorText: (): Record<string, unknown> => JSON.parse(readFileSync(floorFile, 'utf8')).floors.catalog,
    /** A bundle with other policies, whatever its version. */
    putOther: (version: number, policyDir = dir) =>
      authority.writeBundle(policyDir, { ...reading(version), policies: [] }),
    clock: authority.clock,
  };
}

function status(engine: PolicyEngine): string {
  return engine.decideRoles({ domain: 'catalog', roles: ['reader'], action: 'read', resource: 'movie' }).status;
}

const missing = {
  ok: false,
  domains: [{ domain: 'catalog', state: 'missing', error: { code: 'bundle-rollback' } }],
};

test('an older bundle is refused after a restart, and a newer one taken', async (t) => {
  const w = await world(t);
  await w.put(5);
  await (await w.open()).close();
  t.deepEqual(w.floor(), { epoch: 0, version: 5 });
  await w.put(4);
  const engine = await w.open();
  t.is(status(engine), 'DENY_DOMAIN_NOT_FOUND');
  t.like(engine.health(), missing);
  await engine.refresh();
  t.deepEqual(w.reported, ['catalog.pol bundle-rollback']);
  await w.put(5);
  await engine.refresh();
  t.is(status(engine), 'ALLOW');
  t.true(engine.health().ok);
});

test('other policies under one version are refused, while the engine runs and after a restart', async (t) => {
  const w = await world(t);
  await w.put(5);
  const engine = await w.open();
  const held = w.floorText();
  t.deepEqual(Object.keys(held), ['epoch', 'version', 'issued', 'digest']);
  await w.putOther(5);
  await engine.refresh();
  t.is(status(engine), 'ALLOW');
  t.like(engine.health(), { ok: false, domains: [{ state: 'fresh', error: { code: 'bundle-equivocation' } }] });
  await engine.close();
  const restarted = await w.open();
  t.is(status(restarted), 'DENY_DOMAIN_NOT_FOUND');
  t.deepEqual(w.reported, ['catalog.pol bundle-equivocation', 'catalog.pol bundle-equivocation']);
  t.deepEqual(w.floorText(), held);
  await w.put(5);
  await restarted.refresh();
  t.true(restarted.health().ok);
});

test('an issue before the last one is refused after a restart; a renewal moves only the time of the floor', async (t) => {
  const w = await world(t);
  await w.put(5);
  const early = readFileSync(join(w.dir, 'catalog.pol'));
  await (await w.open()).close();
  const { digest } = w.floorText();
  w.clock.advance(86_400_000);
  await w.put(5);
  await (await w.open()).close();
  t.deepEqual(w.floorText(), { epoch: 0, version: 5, issued: '2026-01-02T00:00:00.000Z', digest });
  writeFileSync(join(w.dir, 'catalog.pol'), early);
  t.like((await w.open()).health(), { ok: false, domains: [{ error: { code: 'bundle-issued-earlier' } }] });
});

test('a floor of an earlier program, without time and digest, is taken over', async (t) => {
  const w = await world(t);
  await w.put(5);
  writeFileSync(w.floorFile, JSON.stringify({ floors: { catalog: { epoch: 0, version: 5 } } }));
  const engine = await w.open();
  t.is(status(engine), 'ALLOW');
  t.deepEqual(Object.keys(w.floorText()), ['epoch', 'version', 'issued', 'digest']);
  await w.putOther(5);
  await engine.refresh();
  t.like(engine.health(), { domains: [{ error: { code: 'bundle-equivocation' } }] });
});

test('two directories that disagree about one version are told, whichever comes first', async (t) => {
  const w = await world(t);
  const other = temporaryFolder(t);
  await w.put(5);
  await w.putOther(5, other);
  const engine = await w.open({ policyDir: [w.dir, other] });
  t.is(status(engine), 'ALLOW');
  t.like(engine.health(), { ok: false, domains: [{ state: 'fresh', error: { code: 'bundle-equivocation' } }] });
  t.deepEqual(w.reported, ['catalog.pol bundle-equivocation']);
  const late = await w.open({ policyDir: [other, w.dir] });
  t.is(status(late), 'ALLOW');
  t.like(late.health(), { ok: false, domains: [{ error: { code: 'bundle-equivocation' } }] });
});

test('of two directories one may have an earlier issue', async (t) => {
  const w = await world(t);
  const renewed = temporaryFolder(t);
  await w.put(5);
  w.clock.advance(1000);
  await w.put(5, 0, renewed);
  for (const policyDir of [
    [w.dir, renewed],
    [renewed, w.dir],
  ]) {
    const engine = await w.open({ policyDir });
    t.like(engine.health(), { ok: true, domains: [{ issued: w.clock.now() }] });
    await engine.close();
  }
});

test('without the file a restart forgets: nothing else here remembers', async (t) => {
  const w = await world(t);
  await w.put(5);
  await (await w.open()).close();
  await w.put(4);
  const { dir } = w;
  const engine = await PolicyEngine.open({ policyDir: dir, clock: { now: () => 1_767_225_600_000 }, watch: false });
  t.teardown(() => engine.close());
  t.is(status(engine), 'ALLOW');
});

const successors: [note: string, epoch: number, version: number, isTaken: boolean][] = [
  ['the same', 3, 7, true],
  ['a later epoch with a lower version, as after a restored backup', 4, 1, true],
  ['an earlier epoch with a higher version', 2, 99, false],
  ['a lower version', 3, 6, false],
];
for (const [note, epoch, version, isTaken] of successors) {
  test(`after epoch 3, version 7: ${note}`, async (t) => {
    const w = await world(t);
    await w.put(7, 3);
    await (await w.open()).close();
    await w.put(version, epoch);
    const engine = await w.open();
    t.is(status(engine), isTaken ? 'ALLOW' : 'DENY_DOMAIN_NOT_FOUND');
    t.deepEqual(w.floor(), isTaken ? { epoch, version } : { epoch: 3, version: 7 });
  });
}

test('a newer bundle raises the floor while the engine runs, and one that is removed leaves it', async (t) => {
  const w = await world(t);
  await w.put(1);
  const engine = await w.open();
  await w.put(2);
  await engine.refresh();
  t.deepEqual(w.floor(), { epoch: 0, version: 2 });
  unlinkSync(join(w.dir, 'catalog.pol'));
  await engine.refresh();
  await engine.close();
  await w.put(1);
  t.like((await w.open()).health(), missing);
});

const damages = [
  '',
  '{',
  '[]',
  '{"floors":[]}',
  '{"floors":{"catalog":{"epoch":0,"version":-1}}}',
  '\u0000',
  '{"floors":{"catalog":5}}',
  '{"floors":{"catalog":{"epoch":0,"version":1,"issued":"yesterday"}}}',
  '{"floors":{"catalog":{"epoch":0,"version":1,"digest":7}}}',
];
for (const damage of damages) {
  test(`a damaged file is told and left as it is, and decisions go on: ${JSON.stringify(damage)}`, async (t) => {
    const w = await world(t);
    await w.put(5);
    writeFileSync(w.floorFile, damage);
    const engine = await w.open();
    await engine.refresh();
    t.is(status(engine), 'ALLOW');
    t.like(engine.health(), { ok: false, error: { code: 'floor-unavailable' } });
    t.deepEqual(w.reported, [`${w.floorFile} floor-unavailable`]);
    t.is(readFileSync(w.floorFile, 'utf8'), damage);
    await w.put(4);
    await engine.refresh();
    t.is(engine.health().domains[0]?.version, 5);
    unlinkSync(w.floorFile);
    await engine.refresh();
    t.is(engine.health().error, undefined);
    t.deepEqual(w.floor(), { epoch: 0, version: 5 });
  });
}

test('a file that cannot be written is told, and written when it can be', async (t) => {
  const w = await world(t);
  await w.put(5);
  const folder = join(temporaryFolder(t), 'later');
  const engine = await w.open({ floorFile: join(folder, 'floors.json') });
  t.is(status(engine), 'ALLOW');
  t.deepEqual(engine.health().error, {
    code: 'floor-unavailable',
    message: 'the file of floors cannot be written (ENOENT)',
  });
  mkdirSync(folder);
  await engine.refresh();
  t.true(engine.health().ok);
  t.deepEqual(readdirSync(folder), ['floors.json']);
});

test('engines share a file: what another wrote stays, and a floor that another lost is written again', async (t) => {
  const w = await world(t);
  await w.put(5);
  const engine = await w.open();
  writeFileSync(
    w.floorFile,
    JSON.stringify({ floors: { catalog: { epoch: 0, version: 3 }, media: { epoch: 1, version: 9 } } }),
  );
  await engine.refresh();
  const { floors } = JSON.parse(readFileSync(w.floorFile, 'utf8'));
  t.deepEqual(Object.keys(floors), ['catalog', 'media']);
  t.like(floors, { catalog: { epoch: 0, version: 5 }, media: { epoch: 1, version: 9 } });
  // a higher floor of another one counts from the next start on: what is in force here stays
  writeFileSync(w.floorFile, JSON.stringify({ floors: { catalog: { epoch: 0, version: 6 } } }));
  await engine.refresh();
  t.is(status(engine), 'ALLOW');
  t.deepEqual(w.floor(), { epoch: 0, version: 6 });
  t.like((await w.open()).health(), missing);
});

test('of several directories one may lag behind, also after a restart', async (t) => {
  const w = await world(t);
  const ahead = temporaryFolder(t);
  await w.put(5);
  await w.put(6, 0, ahead);
  for (const policyDir of [
    [w.dir, ahead],
    [ahead, w.dir],
  ]) {
    const engine = await w.open({ policyDir });
    t.like(engine.health(), { ok: true, domains: [{ version: 6 }] });
    await engine.close();
  }
  t.like((await w.open()).health(), missing);
});

test('a file of floors that is not a path is refused', async (t) => {
  const w = await world(t);
  await w.put(1);
  await t.throwsAsync(w.open({ floorFile: '' }), { code: 'invalid-options', message: '`floorFile` must be a path' });
});

const writer = `
  import { PolicyEngine } from '@signet/policy-engine';
  import { createTestAuthority } from '@signet/policy-engine/testing';
  const [policyDir, floorFile, from] = process.argv.slice(1);
  const authority = await createTestAuthority();
  let engine;
  for (let version = Number(from); ; version += 1) {
    await authority.writeBundle(policyDir, { domain: 'catalog', version, policies: [] });
    engine ??= await PolicyEngine.open({ policyDir, floorFile, clock: authority.clock, watch: false });
    await engine.refresh();
    if (engine.health().error) throw new Error(engine.health().error.message);
    console.log(version);
  }`;

test('an engine that is killed leaves the old floors or the new', async (t) => {
  const w = await world(t);
  let last = 0;
  for (const lines of [1, 4, 9]) {
    const args = [
      '--conditions=@signet/source',
      '--input-type=module',
      '--eval',
      writer,
      w.dir,
      w.floorFile,
      `${last + 1}`,
    ];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    t.teardown(() => child.kill('SIGKILL'));
    let seen = 0;
    for await (const line of createInterface({ input: child.stdout })) {
      last = Number(line);
      seen += 1;
      // at an instant of the next write that is not known beforehand
      if (seen === lines) setTimeout(() => child.kill('SIGKILL'), Math.random() * 5);
    }
    t.true(seen >= lines);
    const { version } = JSON.parse(readFileSync(w.floorFile, 'utf8')).floors.catalog;
    t.true(version === last || version === last + 1, `${version} after ${last}`);
    last = version;
  }
});
