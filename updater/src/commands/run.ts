import { hostname } from 'node:os';
import type { Logger } from 'pino';
import { UpdaterError } from '../errors.ts';
import { type ExitStatus, exitStatus } from '../exit-status.ts';
import { createLogger, logReport } from '../logger.ts';
import { pollOffset } from '../offset.ts';
import type { RunReport } from '../run-once.ts';
import { startSchedule } from '../schedule.ts';
import { openUpdater, type Updater } from '../updater.ts';
import type { CommandContext } from './context.ts';

/** The daemon: a run at once, then one a minute, until it is asked to end. */
export async function run(context: CommandContext): Promise<ExitStatus> {
  const { config, clock, signal } = context;
  const logger = createLogger(config.logLevel);
  await using updater = await openUpdater({ config, clock });
  if (updater.state.problem !== undefined) logger.warn(updater.state.problem);
  const offset = pollOffset(hostname(), config.policyDir);
  logger.info(
    { server: config.baseUrl, policyDir: config.policyDir, domains: config.domains, offset },
    'updater started',
  );
  const first = await updater.run(signal);
  logReport(logger, first, clock.now());
  if (context.json) context.print(readyLine(first, config.policyDir));
  const pause: Pause = { notBefore: first.notBefore };
  const schedule = startSchedule({
    offset,
    clock,
    work: (stop) => scheduledRun({ updater, logger, pause, now: () => clock.now() }, stop),
  });
  context.onWakeUp(() => void schedule.runNow());
  await ended(signal);
  await schedule.stop();
  logger.info('updater ended');
  return exitStatus.ok;
}

interface Pause {
  notBefore: number | undefined;
}

interface ScheduledRun {
  readonly updater: Updater;
  readonly logger: Logger;
  readonly pause: Pause;
  readonly now: () => number;
}

/** A run that is left out while the server does not want to be asked, and that never rejects. */
async function scheduledRun({ updater, logger, pause, now }: ScheduledRun, signal: AbortSignal): Promise<void> {
  if (pause.notBefore !== undefined && now() < pause.notBefore) {
    logger.debug('run left out, as the server asked');
    return;
  }
  try {
    const report = await updater.run(signal);
    if (signal.aborted) return;
    pause.notBefore = report.notBefore;
    logReport(logger, report, now());
  } catch (error) {
    // the daemon outlives every failure: the next run may find a better world
    const known = error instanceof UpdaterError;
    logger.error({ error: known ? error.message : error }, known ? 'run failed' : 'run failed unexpectedly');
  }
}

function readyLine(report: RunReport, policyDir: string): string {
  const domains = Object.fromEntries([...report.outcomes].map(([domain, { kind }]) => [domain, kind]));
  return JSON.stringify({ ready: true, pid: process.pid, policyDir, exitStatus: report.exitStatus, domains });
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
