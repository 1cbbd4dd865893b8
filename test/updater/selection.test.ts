import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DomainName } from '@signet/policy-engine/names';
import { domainsOf, followAnswer, type SelectedDomains } from '@signet/updater/selected-domains';
import { policyDirectory } from '@signet/updater/updater';
import test, { type ExecutionContext } from 'ava';
import { answer } from '../client/support/tls-server.ts';
import { systemError, watchedFiles } from './support/faulty-files.ts';
import { kinds, type UpdaterWorld, updaterWorld } from './support/world.ts';

/* `domains: auto`: which domains a host keeps because they name it. */

const day = 86_400_000;

interface AutoWorld extends UpdaterWorld {
  /** Runs an updater with `domains: auto` once, and nothing else configured. */
  run(change?: { maxDomains?: number; domains?: readonly DomainName[] }): ReturnType<UpdaterWorld['runOnce']>;
  bundles(): Promise<readonly string[]>;
  selection(): { domains: number; error?: string; notNamedSince?: Record<string, string> };
}

async function autoWorld(t: ExecutionContext, ...domains: readonly string[]): Promise<AutoWorld> {
  const world = await updaterWorld(t);
  for (const domain of domains) await world.publish({ domain });
  world.name(...domains);
  const config = { ...world.config, domains: [], autoDomains: true } as const;
  return {
    ...world,
    run: (change) => world.runOnce(undefined, { ...config, ...change }),
    bundles: async () => (await policyDirectory(config).list()).filter((name) => name.endsWith('.pol')).sort(),
    selection: () => JSON.parse(world.read('status.json') ?? '').selection,
  };
}

test('domains that name the host come with the next run, and are asked for conditionally', async (t) => {
  const world = await autoWorld(t, 'catalog', 'media');
  const updater = await world.open(undefined, { domains: [], autoDomains: true });
  t.deepEqual(kinds(await updater.run()), { catalog: 'updated', media: 'updated' });
  await world.publish({ domain: 'sports' });
  t.deepEqual(kinds(await updater.run()), { catalog: 'unchanged', media: 'unchanged' });
  world.name('catalog', 'media', 'sports');
  const report = await updater.run();
  t.deepEqual([kinds(report)['sports'], report.exitStatus], ['updated', 0]);
  t.deepEqual(report.selected, { added: ['sports'], leaving: [], removed: [] });
  const tags = world.server.requests.filter(({ url }) => url.endsWith('/bundle-domains')).map(({ headers }) => headers);
  t.deepEqual(
    tags.map((headers) => headers['if-none-match']),
    [undefined, '"catalog,media"', '"catalog,media"'],
  );
});

test('a domain that stops naming the host is kept for a day, and then leaves the directory', async (t) => {
  const world = await autoWorld(t, 'catalog', 'media');
  await world.run();
  world.name('catalog');
  const first = await world.run();
  t.deepEqual([kinds(first), first.exitStatus], [{ catalog: 'unchanged', media: 'unchanged' }, 0]);
  t.deepEqual(first.selected?.leaving, ['media']);
  t.deepEqual(world.selection(), {
    domains: 2,
    confirmed: '2026-01-01T00:00:00.000Z',
    notNamedSince: { media: '2026-01-01T00:00:00.000Z' },
  } as never);
  world.clock.advance(day - 1);
  t.deepEqual((await world.run()).selected, { added: [], leaving: [], removed: [] });
  t.deepEqual(await world.bundles(), ['catalog.pol', 'media.pol']);
  world.clock.advance(1);
  t.deepEqual((await world.run()).selected?.removed, ['media']);
  t.deepEqual(await world.bundles(), ['catalog.pol']);
  // What was accepted of it still counts, should it come back.
  t.true('media' in JSON.parse(world.read('state.json') ?? '').floors);
});

test('a domain that names the host again in time stays', async (t) => {
  const world = await autoWorld(t, 'catalog', 'media');
  await world.run();
  world.name('catalog');
  await world.run();
  world.clock.advance(day);
  world.name('catalog', 'media');
  t.deepEqual((await world.run()).selected, { added: [], leaving: [], removed: [] });
  t.false('notNamedSince' in world.selection());
});

test('an answer without any domain takes none from the host, until an operator removes the list', async (t) => {
  const world = await autoWorld(t, 'catalog');
  await world.run();
  world.name();
  for (const wait of [0, 2 * day]) {
    world.clock.advance(wait);
    const report = await world.run();
    t.deepEqual([kinds(report), report.exitStatus], [{ catalog: 'unchanged' }, 1]);
    t.regex(
      world.selection().error ?? '',
      /^no domain names `catalog.updater` .* any more: .* remove `domains.json` in /,
    );
  }
  rmSync(join(world.policyDir, 'domains.json'));
  const report = await world.run();
  t.deepEqual([kinds(report), report.exitStatus, report.status.unconfigured], [{}, 1, ['catalog']]);
  t.is(world.selection().error, 'no domain names `catalog.updater` in `bundleReaders`');
  t.deepEqual(await world.bundles(), ['catalog.pol']);
});

test('without an answer the list on disk holds, also after a restart', async (t) => {
  const world = await autoWorld(t, 'catalog', 'media');
  await world.run();
  for (const [note, respond, status] of [
    ['an older server', undefined, 1],
    ['a fault', (_: unknown, response) => answer(response, 500, { code: 500 }), 1],
    ['no JSON', (_: unknown, response) => void response.writeHead(200).end('<html>'), 5],
    ['a path as a name', badNames(['../../etc/passwd']), 5],
    ['names that are none', badNames([{}]), 5],
    ['too many names', badNames(Array.from({ length: 10_001 }, (_, index) => `d${index}`)), 5],
  ] as readonly (readonly [string, UpdaterWorld['named']['respond'], number])[]) {
    if (respond === undefined) delete world.named.respond;
    else world.named.respond = respond;
    const report = await world.run();
    t.deepEqual([kinds(report), report.exitStatus], [{ catalog: 'unchanged', media: 'unchanged' }, status], note);
    t.is(typeof world.selection().error, 'string', note);
  }
  await world.server.close();
  t.deepEqual(kinds(await world.run()), { catalog: 'unreachable', media: 'unreachable' });
  t.deepEqual((await world.run()).status.unconfigured, []);
});

function badNames(domains: unknown): UpdaterWorld['named']['respond'] {
  return (_, response) => answer(response, 200, { reader: 'catalog.updater', complete: true, domains });
}

test('a server that asks to come back later is not asked for bundles either', async (t) => {
  const world = await autoWorld(t, 'catalog');
  await world.run();
  world.named.respond = (_, response) => answer(response, 429, { code: 429 }, { 'retry-after': '60' });
  const before = world.bundleRequests().length;
  const report = await world.run();
  t.deepEqual([kinds(report), report.notBefore], [{ catalog: 'postponed' }, world.clock.now() + 60_000]);
  t.is(world.bundleRequests().length, before);
});

test('beyond `maxDomains` no more are taken, and those that are here stay', async (t) => {
  const world = await autoWorld(t, 'media', 'sports');
  await world.run({ maxDomains: 2 });
  await world.publish();
  world.name('catalog', 'media', 'sports');
  const report = await world.run({ maxDomains: 2 });
  t.deepEqual([kinds(report), report.exitStatus], [{ media: 'unchanged', sports: 'unchanged' }, 1]);
  t.is(world.selection().error, '1 domains that name `catalog.updater` are left out: `maxDomains` is 2');
});

test('a configured domain stays, whoever names the host', async (t) => {
  const world = await autoWorld(t, 'catalog', 'media');
  const { domains } = world.config;
  t.deepEqual(kinds(await world.run({ domains })), { catalog: 'updated', media: 'updated' });
  world.name('media');
  await world.run({ domains });
  world.clock.advance(day);
  t.deepEqual((await world.run({ domains })).selected?.removed, ['catalog']);
  t.deepEqual(await world.bundles(), ['catalog.pol', 'media.pol']);
  t.deepEqual(await domainsOf({ domains, autoDomains: true }, policyDirectory(world.config)), [
    'catalog',
    'media',
  ] as never);
  t.deepEqual(await domainsOf({ domains }, policyDirectory(world.config)), domains);
});

test('a directory that was put in the place of the one before gets the list as well', async (t) => {
  const world = await autoWorld(t, 'catalog');
  const updater = await world.open(undefined, { domains: [], autoDomains: true });
  await updater.run();
  rmSync(world.policyDir, { recursive: true });
  delete world.named.respond;
  t.deepEqual(kinds(await updater.run()), { catalog: 'updated' });
  t.true((world.read('domains.json') ?? '').includes('catalog'));
});

test('a bundle that cannot be removed keeps its domain, and is said', async (t) => {
  const world = await autoWorld(t, 'catalog', 'media');
  await world.run();
  world.name('catalog');
  await world.run();
  world.clock.advance(day);
  await world.publish({ domain: 'sports' });
  world.name('catalog', 'sports');
  const files = watchedFiles((call) => {
    if (call === 'remove media.pol') throw systemError('EROFS');
  });
  const report = await world.runOnce(files, { domains: [], autoDomains: true });
  t.deepEqual(kinds(report), { catalog: 'unchanged', sports: 'updated', media: 'unchanged' });
  t.is(report.exitStatus, 4);
  t.regex(world.selection().error ?? '', /EROFS/);
});

test('a list that cannot be read is none, and the next answer makes it', async (t) => {
  const world = await autoWorld(t, 'catalog');
  await world.run();
  writeFileSync(join(world.policyDir, 'domains.json'), '{"domains":{"../x":{}}}', { mode: 0o644 });
  t.deepEqual(await domainsOf({ domains: [], autoDomains: true }, policyDirectory(world.config)), []);
  t.deepEqual(kinds(await world.run()), { catalog: 'unchanged' });
  t.deepEqual(JSON.parse(world.read('domains.json') ?? ''), { domains: { catalog: {} } });
});

const known = (domains: Record<string, number | undefined>): SelectedDomains =>
  new Map(Object.entries(domains)) as unknown as SelectedDomains;

for (const [note, before, named, now, after] of [
  [
    'an incomplete answer counts no time',
    { a: undefined, b: 5 },
    { domains: ['c'], complete: false },
    day,
    { a: undefined, b: 5, c: undefined },
  ],
  ['an incomplete answer removes nothing', { a: 0 }, { domains: ['c'], complete: false }, day, { a: 0, c: undefined }],
  [
    'a clock that was set back begins the day again',
    { a: 2 * day },
    { domains: ['c'], complete: true },
    day,
    { a: day, c: undefined },
  ],
  ['a time that is long past removes', { a: 0 }, { domains: ['c'], complete: true }, day, { c: undefined }],
] as const) {
  test(note, (t) => {
    const { domains } = followAnswer(known(before), named as never, now, 10);
    t.deepEqual([...domains], Object.entries(after) as never);
  });
}
