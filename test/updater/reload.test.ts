import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '@signet/updater/config/config';
import { type DomainReport, describeOverall, overallStatus } from '@signet/updater/overall-status';
import type { Status } from '@signet/updater/updater-status';
import { watchConfig } from '@signet/updater/watch-config';
import test from 'ava';
import { parse, stringify } from 'yaml';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';
import { kinds, updaterWorld } from './support/world.ts';

/* A configuration that changes while the updater runs, and what `status` says in one line. */

const good = {
  baseUrl: 'https://localhost:4443/v1',
  caBundle: 'ca.pem',
  certificate: 'cert.pem',
  key: 'key.pem',
  policyDir: 'policy',
};

test('`auto`, a list and a folder of files add up', (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'updater.yaml');
  const write = (settings: object) => writeFileSync(file, stringify({ ...good, ...settings }));
  mkdirSync(join(folder, 'domains.d'));
  writeFileSync(join(folder, 'domains.d', 'b.yaml'), 'domains: [media, Sports]\n');
  writeFileSync(join(folder, 'domains.d', 'a.yaml'), 'domains: [news, media]\n');
  for (const ignored of ['.c.yaml', 'c.yaml~', 'c.yml']) {
    writeFileSync(join(folder, 'domains.d', ignored), 'domains: [ignored]\n');
  }
  const chosen = (settings: object, env = {}) => {
    write(settings);
    const { domains, autoDomains } = loadConfig(file, env);
    return [...domains.map(String), ...(autoDomains === true ? ['auto'] : [])];
  };
  t.deepEqual(chosen({ domains: 'auto' }), ['auto']);
  t.deepEqual(chosen({ domainsDir: 'domains.d' }), ['news', 'media', 'sports']);
  t.deepEqual(chosen({ domains: ['sports', 'catalog'], domainsDir: 'domains.d' }), [
    'sports',
    'catalog',
    'news',
    'media',
  ]);
  t.deepEqual(chosen({ domains: 'auto', domainsDir: 'domains.d' }), ['news', 'media', 'sports', 'auto']);
  const env = { SIGNET_UPDATER_DOMAINS: 'auto', SIGNET_UPDATER_DOMAINS_DIR: join(folder, 'domains.d') };
  t.deepEqual(chosen({ domains: ['catalog'] }, env), ['news', 'media', 'sports', 'auto']);
});

const bad: readonly (readonly [note: string, settings: object, files: Record<string, string>, says: RegExp])[] = [
  ['neither', {}, {}, /domains: must be `auto` or an array of domains, unless there is a `domainsDir`$/],
  ['another word', { domains: 'all' }, {}, /domains: must be `auto` or an array of domains$/],
  ['an Athenz server', { domains: 'auto', athenzBundles: true }, {}, /an Athenz server does not tell which domains/],
  ['no folder', { domainsDir: 'elsewhere' }, {}, /domainsDir: folder `.*elsewhere` cannot be read \(ENOENT\)/],
  [
    'a name that is none',
    { domainsDir: 'd' },
    { 'x.yaml': 'domains: [a, ../b]' },
    /x.yaml`: domains.1: not a domain name/,
  ],
  ['another setting', { domainsDir: 'd' }, { 'x.yaml': 'domain: a' }, /x.yaml`: .*Unrecognized key/],
  ['a list alone', { domainsDir: 'd' }, { 'x.yaml': '- a' }, /x.yaml` must be a mapping/],
  ['no YAML', { domainsDir: 'd' }, { 'x.yaml': 'domains: [' }, /x.yaml` is not YAML: line/],
];

for (const [note, settings, files, says] of bad) {
  test(`refused, and named: ${note}`, (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'd'));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, 'd', name), text);
    writeFileSync(join(folder, 'updater.yaml'), stringify({ ...good, ...settings }));
    t.throws(() => loadConfig(join(folder, 'updater.yaml'), {}), { message: says });
  });
}

test('another configuration is worked with from the next run on, over the same directory', async (t) => {
  const world = await updaterWorld(t);
  const catalog = await world.publish();
  await world.publish({ domain: 'media' });
  const updater = await world.open();
  t.deepEqual(kinds(await updater.run()), { catalog: 'updated' });
  const change = (settings: object) =>
    writeFileSync(world.configFile, stringify({ ...parse(readFileSync(world.configFile, 'utf8')), ...settings }));
  const load = () => loadConfig(world.configFile, {});
  t.is(await updater.reconfigure(load), undefined, 'the same configuration is no other one');
  change({ domains: ['catalog', 'media'] });
  t.deepEqual((await updater.reconfigure(load))?.domains, ['catalog', 'media'] as never);
  t.deepEqual(kinds(await updater.run()), { catalog: 'unchanged', media: 'updated' });
  change({ domains: ['media'] });
  t.deepEqual((await updater.reconfigure(load))?.domains, ['media'] as never);
  const report = await updater.run();
  t.deepEqual([kinds(report), report.status.unconfigured], [{ media: 'unchanged' }, ['catalog']]);
  t.is(world.read('catalog.pol'), catalog);
});

test('a configuration that cannot be used leaves the one before in use, and the status says so', async (t) => {
  const world = await updaterWorld(t);
  await world.publish();
  const updater = await world.open();
  const before = readFileSync(world.configFile, 'utf8');
  const load = () => loadConfig(world.configFile, {});
  for (const [settings, says] of [
    [{ domains: ['..'] }, /domains.0: not a domain name/],
    [{ certificate: 'nowhere.pem' }, /^certificate: .* does not exist/],
    [{ policyDir: 'elsewhere' }, /policyDir: another directory needs a restart/],
  ] as const) {
    writeFileSync(world.configFile, stringify({ ...parse(before), ...settings }));
    await t.throwsAsync(updater.reconfigure(load), { message: says });
    const report = await updater.run();
    t.deepEqual(Object.keys(kinds(report)), ['catalog']);
    t.regex(report.status.configurationError ?? '', says);
  }
  writeFileSync(world.configFile, before);
  t.is(await updater.reconfigure(load), undefined);
  t.is((await updater.run()).status.configurationError, undefined);
});

test('files of the configuration are followed, also those of a folder that came later', async (t) => {
  const folder = temporaryFolder(t);
  const file = join(folder, 'updater.yaml');
  const more = join(folder, 'domains.d');
  mkdirSync(more);
  writeFileSync(file, 'one');
  let told = 0;
  const onChange = () => {
    told += 1;
  };
  const watch = watchConfig({ file, folder: undefined, lookMs: 20, onChange });
  t.teardown(() => watch[Symbol.asyncDispose]());
  await watch.ready;
  let size = 3;
  const grow = (path: string) => {
    size += 1;
    writeFileSync(path, 'x'.repeat(size));
  };
  for (const [note, step] of [
    ['a file that is written', () => grow(file)],
    ['a file that comes into a folder that is followed since', () => grow(join(more, 'a.yaml'))],
    ['a file that goes', () => rmSync(join(more, 'a.yaml'), { force: true })],
  ] as const) {
    const before = told;
    watch.follow(more);
    await until(note, () => {
      step();
      return told > before;
    });
  }
  t.pass();
});

const at = '2026-01-01T00:00:00.000Z';
const now = 1_767_225_600_000;
const reports = (...states: DomainReport['state'][]) =>
  states.map((state) => ({ domain: 'd', state, check: { state: 'missing', message: '' }, last: undefined }) as const);
const lastRun: Status = { server: 's', pid: 1, lastRun: at, keys: { kids: [] }, domains: {}, unconfigured: [] };

const overall: readonly (readonly [
  DomainReport['state'][],
  Partial<Status> | undefined,
  says: string | RegExp,
  exit: number,
])[] = [
  [['fresh', 'fresh'], {}, 'ok: 2 domains, 2 fresh', 0],
  [['fresh', 'stale', 'expired'], {}, 'degraded: 3 domains, 1 fresh, 1 stale, 1 expired', 5],
  [['stale', 'missing'], {}, 'stale: 2 domains, 1 stale, 1 missing', 1],
  [[], {}, 'degraded: 0 domains; no domain to follow: add one to `domains` or to a file in `domainsDir`', 1],
  [[], { selection: { domains: 0, error: 'none' } }, 'degraded: 0 domains; list of domains: none', 1],
  [['fresh'], undefined, 'stale: 1 domain, 1 fresh; no run has ended yet', 1],
  [['fresh'], { lastRun: '2025-12-31T23:49:59.999Z' }, /^stale: .*is the updater running\?$/, 1],
  [['fresh'], { lastRun: '2025-12-31T23:50:00.000Z' }, 'ok: 1 domain, 1 fresh', 0],
  [['fresh'], { lastRun: '2026-01-01T00:10:00.001Z' }, /^stale: 1 domain, 1 fresh; .*is the updater running\?$/, 1],
  [
    ['fresh'],
    { configurationError: 'bad' },
    'degraded: 1 domain, 1 fresh; the configuration on disk is not in use: bad',
    2,
  ],
  [['fresh'], { certificateExpires: at }, /^degraded: .*the certificate expired at /, 2],
  [['fresh'], { selection: { domains: 1, error: 'away' } }, 'degraded: 1 domain, 1 fresh; list of domains: away', 1],
  [['fresh'], { keys: { kids: [], error: 'away' } }, 'degraded: 1 domain, 1 fresh; keys: away', 1],
];

for (const [states, more, says, exit] of overall) {
  test(`status in one line: ${says}`, (t) => {
    const found = overallStatus(reports(...states), more && { ...lastRun, ...more }, now);
    t.regex(describeOverall(found), says instanceof RegExp ? says : new RegExp(`^${says.replaceAll('?', '\\?')}$`));
    t.is(found.exitStatus, exit as typeof found.exitStatus);
  });
}
