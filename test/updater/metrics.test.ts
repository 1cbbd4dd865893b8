import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { countsIn, escaped, metricsText } from '@signet/updater/metrics';
import type { Status } from '@signet/updater/updater-status';
import test from 'ava';
import { missingPrometheus, promtool, promtoolFile } from '#support/promtool';
import { metricNames, seriesIn } from '#support/scrape';
import { updaterWorld } from './support/world.ts';

const start = 1_767_225_600;

test('the file says of each domain how old its bundle is, and counts outcomes over restarts', async (t) => {
  const world = await updaterWorld(t, ['catalog', 'media']);
  const textfile = join(world.folder, 'signet.prom');
  const config = { metrics: { textfile } };
  const read = () => seriesIn(readFileSync(textfile, 'utf8'));
  await world.publish({ version: 3 });
  const first = await world.open(undefined, config);
  await first.run();
  t.is(statSync(textfile).mode & 0o777, 0o644);
  t.is(read().get('signet_updater_outcomes_total{outcome="updated"}'), 1);
  t.is(read().get('signet_updater_outcomes_total{outcome="refused"}'), 1, 'nobody publishes media');
  t.is(read().get('signet_updater_bundle_expiry_timestamp_seconds{domain="catalog"}'), start + 7 * 86_400);
  t.is(read().get('signet_updater_last_success_timestamp_seconds{domain="catalog"}'), start);
  t.false(read().has('signet_updater_bundle_age_seconds{domain="media"}'));
  await first.close();
  world.clock.advance(90_000);
  const second = await world.open(undefined, config);
  await second.run();
  t.is(read().get('signet_updater_bundle_age_seconds{domain="catalog"}'), 90);
  t.is(read().get('signet_updater_last_run_timestamp_seconds'), start + 90);
  t.is(read().get('signet_updater_outcomes_total{outcome="updated"}'), 1);
  t.is(read().get('signet_updater_outcomes_total{outcome="unchanged"}'), 1);
  t.is(read().get('signet_updater_outcomes_total{outcome="refused"}'), 2);
  if (promtoolFile === undefined) return t.log(missingPrometheus);
  t.deepEqual(promtool(['check', 'metrics'], readFileSync(textfile, 'utf8')), { status: 0, output: '' });
});

test('a file that cannot be written is a problem of the run and does not keep policy from the host', async (t) => {
  const world = await updaterWorld(t);
  await world.publish({ version: 1 });
  const textfile = join(world.folder, 'taken.prom');
  mkdirSync(join(textfile, 'inside'), { recursive: true });
  const updater = await world.open(undefined, { metrics: { textfile } });
  const report = await updater.run();
  t.deepEqual(report.problems, [`metrics file \`${textfile}\` cannot be written`]);
  t.not(report.exitStatus, 0);
  t.truthy(world.read('catalog.pol'));
});

test('whatever stands in the file before, only known outcomes are counted on', async (t) => {
  const line = (outcome: string, count: string) => `signet_updater_outcomes_total{outcome="${outcome}"} ${count}\n`;
  const lines = [line('updated', '7'), line('made-up', '9'), line('refused', 'NaN'), line('rejected', '1e3')];
  const text = `${lines.join('')}garbage`;
  t.deepEqual([...countsIn(text)], [['updated', 7]]);
  const world = await updaterWorld(t);
  await world.publish({ version: 1 });
  const textfile = join(world.folder, 'old.prom');
  writeFileSync(textfile, text);
  await (await world.open(undefined, { metrics: { textfile } })).run();
  t.is(seriesIn(readFileSync(textfile, 'utf8')).get('signet_updater_outcomes_total{outcome="updated"}'), 8);
});

test('values of labels are escaped', (t) => t.is(escaped('a"b\\c\nd'), 'a\\"b\\\\c\\nd'));

test('the reference has every metric of the updater, and no other', (t) => {
  const status: Status = { server: '', pid: 1, lastRun: '', keys: { kids: [] }, domains: {}, unconfigured: [] };
  const page = readFileSync(new URL('../../docs/reference/metrics.md', import.meta.url), 'utf8');
  const ofUpdater = page.split('\n## Of the updater\n')[1]?.split('\n## ')[0] ?? '';
  const rows = [...ofUpdater.matchAll(/^\| `(signet_\w+)`/gm)].map(([, name = '']) => name);
  t.deepEqual(rows.toSorted(), metricNames(metricsText(status, new Map(), 0)).toSorted());
});

test('a named pipe in the place of the file is replaced and not waited for', async (t) => {
  const world = await updaterWorld(t);
  await world.publish({ version: 1 });
  const textfile = join(world.folder, 'pipe.prom');
  execFileSync('mkfifo', [textfile]);
  await (await world.open(undefined, { metrics: { textfile } })).run();
  t.true(statSync(textfile).isFile());
});
