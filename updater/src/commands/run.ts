import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { UpdaterConfig } from '../config/config.ts';
import { type ExitStatus, exitStatus } from '../exit-status.ts';
import { createLogger, logReport } from '../logger.ts';
import { pollOffset } from '../offset.ts';
import type { RunReport } from '../run-once.ts';
import { startSchedule } from '../schedule.ts';
import { openUpdater, type Updater } from '../updater.ts';
import { UpdaterError } from '../updater-errors.ts';
import { watchConfig } from '../watch-config.ts';
import type { CommandContext } from './context.ts';

/** The daemon: a run at once, then one a minute, until it is asked to end. */
export async function run(context: CommandContext): Promise<ExitStatus> {
  const { config, clock, signal } = context;
  const logger = createLogger(config.logLevel);
  await using updater = await openUpdater({ config, clock });
  if (updater.state.problem !== undefined) logger.warn(updater.state.problem);
  const offset = pollOffset(hostname(), config.policyDir);
  const { baseUrl: server, policyDir, domains } = config;
  logger.info({ server, policyDir, domains, autoDomains: config.autoDomains, offset }, 'updater started');
  let isFirst = true;
  const onReport = (report: RunReport) => {
    logReport(logger, report, clock.now());
    if (isFirst && context.json) context.print(readyLine(report, policyDir));
    isFirst = false;
  };
  const work = daemonWork({ updater, logger, onReport, now: () => clock.now() });
  const schedule = startSchedule({ offset, clock, work });
  await using watch = watchConfig({
    file: context.configFile,
    folder: config.domainsDir,
    onChange: () => void reload(),
  });
  const reload = async () => {
    const next = await reloadConfig(updater, context, logger);
    if (next !== undefined) watch.follow(next.domainsDir);
    await schedule.runNow();
  };
  context.onWakeUp(() => void schedule.runNow());
  context.onReload(() => void reload());
  void schedule.runNow();
  await ended(signal);
  await schedule.stop();
  logger.info('updater ended');
  return exitStatus.ok;
}

/** The configuration on disk, where it is another one and can be used; what cannot is said, and changes nothing. */
async function reloadConfig(
  updater: Pick<Updater, 'reconfigure'>,
  context: Pick<CommandContext, 'loadConfig'>,
  logger: Logger,
): Promise<UpdaterConfig | undefined> {
  try {
    const config = await updater.reconfigure(() => context.loadConfig());
    if (config === undefined) return undefined;
    logger.level = config.logLevel;
    const { baseUrl: server, domains, autoDomains } = config;
    logger.info({ server, domains, autoDomains }, 'configuration loaded');
    return config;
  } catch (error) {
    const message = error instanceof UpdaterError ? error.message : error;
    logger.error({ error: message }, 'configuration cannot be loaded, the previous one stays in use');
    return undefined;
  }
}

interface DaemonDeps {
  readonly updater: Updater;
  readonly logger: Logger;
  readonly onReport: (report: RunReport) => void;
  readonly now: () => number;
}

/**
 * Maximum pause (ms), whatever an answer asks for: it may be the page of a proxy, and a right that was removed must not
 * last on this host until tomorrow. A longer time to wait means that the clock was set back.
 */
const longestPause = 600_000;

/** Runs that are left out while the server does not want to be asked, and that never reject. */
export function daemonWork({ updater, logger, onReport, now }: DaemonDeps): (signal: AbortSignal) => Promise<void> {
  let notBefore = 0;
  return async (signal) => {
    const wait = notBefore - now();
    if (wait > 0 && wait <= longestPause) {
      logger.info({ seconds: Math.ceil(wait / 1000) }, 'run skipped, as requested by the server');
      return;
    }
    try {
      const report = await updater.run(signal);
      if (signal.aborted) return;
      notBefore = Math.min(report.notBefore ?? 0, now() + longestPause);
      onReport(report);
    } catch (error) {
      // the daemon outlives every failure: the next run may find a better world
      const known = error instanceof UpdaterError;
      logger.error({ error: known ? error.message : error }, known ? 'run failed' : 'run failed unexpectedly');
    }
  };
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
