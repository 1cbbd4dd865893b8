import { readFile, stat } from 'node:fs/promises';
import { parseTimestamp } from '@signet/policy-engine/clock';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { UpdaterError } from './updater-errors.ts';
import { outcomeKinds, type Status } from './updater-status.ts';

/** Number of outcomes of each kind, since the file was first written. */
type Counts = ReadonlyMap<string, number>;

interface Series {
  readonly label: string;
  readonly value: number | undefined;
}

/** Far more than the file ever holds. */
const readableBytes = 8 << 20;

/**
 * Results of the last run as metrics, in the text format of Prometheus. Ages are as of `now`: a file that is not written any more shows the same
 * ones for ever, so alerts compare timestamps with the time.
 */
export function metricsText(status: Status, counts: Counts, now: number): string {
  const domains = Object.entries(status.domains);
  const ofDomains = (value: (domain: Status['domains'][string]) => number | undefined): Series[] =>
    domains.map(([name, domain]) => ({ label: `domain="${escaped(name)}"`, value: value(domain) }));
  return [
    metric('signet_updater_bundle_age_seconds', 'gauge', 'Age of the bundle on disk since it was issued.', [
      ...ofDomains(({ issued }) => secondsSince(issued, now)),
    ]),
    metric('signet_updater_bundle_expiry_timestamp_seconds', 'gauge', 'When the bundle on disk expires.', [
      ...ofDomains(({ expires }) => secondsOf(expires)),
    ]),
    metric(
      'signet_updater_last_success_timestamp_seconds',
      'gauge',
      'When the server last confirmed the bundle on disk, or gave a newer one.',
      ofDomains(({ lastSuccess }) => secondsOf(lastSuccess)),
    ),
    metric('signet_updater_outcomes_total', 'counter', 'Results of domain updates in runs.', [
      ...outcomeKinds.map((kind) => ({ label: `outcome="${kind}"`, value: counts.get(kind) ?? 0 })),
    ]),
    metric('signet_updater_last_run_timestamp_seconds', 'gauge', 'When the last run ended.', [
      { label: '', value: secondsOf(status.lastRun) },
    ]),
  ].join('');
}

function metric(name: string, type: 'counter' | 'gauge', help: string, series: readonly Series[]): string {
  const lines = series.flatMap(({ label, value }) =>
    value === undefined ? [] : [`${name}${label === '' ? '' : `{${label}}`} ${value}\n`],
  );
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

/** A value of a label as the format has it. */
export function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}

function secondsOf(timestamp: string | undefined): number | undefined {
  const milliseconds = timestamp === undefined ? undefined : parseTimestamp(timestamp);
  return milliseconds === undefined ? undefined : milliseconds / 1000;
}

function secondsSince(timestamp: string | undefined, now: number): number | undefined {
  const seconds = secondsOf(timestamp);
  return seconds === undefined ? undefined : Math.max(0, now / 1000 - seconds);
}

/** The outcomes that an earlier text counted; of anything else none. */
export function countsIn(text: string): Counts {
  const lines = text.matchAll(/^signet_updater_outcomes_total\{outcome="([a-z-]+)"\} (\d{1,15})$/gm);
  const found = [...lines].map(([, kind = '', count]) => [kind, Number(count)] as const);
  return new Map(found.filter(([kind]) => outcomeKinds.some((known) => known === kind)));
}

/** Writes the file after each run. Its counters continue those of the former process's file. */
export function metricsFile(path: string): (status: Status, now: number) => Promise<void> {
  let counts: Map<string, number> | undefined;
  return async (status, now) => {
    counts ??= new Map(countsIn(await readText(path)));
    for (const { outcome } of Object.values(status.domains)) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
    try {
      // Readable for the exporter, which is another user.
      await replaceFile(path, metricsText(status, counts, now), { mode: 0o644 });
    } catch (cause) {
      throw new UpdaterError('storage', `metrics file \`${path}\` cannot be written`, { cause });
    }
  };
}

async function readText(path: string): Promise<string> {
  try {
    const found = await stat(path);
    // A read of a named pipe would wait for a writer.
    return found.isFile() && found.size <= readableBytes ? await readFile(path, 'utf8') : '';
  } catch {
    return '';
  }
}
