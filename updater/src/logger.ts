import { createProgramLog } from '@signet/policy-engine/internal/log';
import { type Logger, pino } from 'pino';
import { isSuccess } from './outcome.ts';
import type { RunReport } from './run-once.ts';

/** The log of the updater (docs/reference/logs.md). */
export function createLogger(level: string): Logger {
  return createProgramLog({ create: pino<never, boolean>, destination: pino.destination }, { level });
}

/** Logs a line for each domain that changed or failed, and one for the run. */
export function logReport(logger: Logger, report: RunReport, now: number): void {
  for (const [domain, outcome] of report.outcomes) {
    const { kind } = outcome;
    if (!isSuccess(outcome)) {
      const { reason, failures, expires } = report.status.domains[domain] ?? {};
      logger.warn({ domain, outcome: kind, reason, failures, expires, error: outcome.message }, 'domain not updated');
    } else if (kind === 'updated') {
      const { epoch, version } = outcome.bundle;
      logger.info({ domain, outcome: kind, epoch, version }, 'domain updated');
    }
    if (!isSuccess(outcome)) continue;
    if (now >= outcome.bundle.freshUntil) {
      logger.warn({ domain, expires: report.status.domains[domain]?.expires }, 'bundle is near its expiry');
    }
  }
  if (report.idle !== undefined) logger.warn({ error: report.idle }, 'no domain to follow');
  logSelection(logger, report);
  if (report.status.keys.error !== undefined)
    logger.warn({ error: report.status.keys.error }, 'keys could not be refreshed');
  for (const error of report.problems) logger.error({ error }, 'run could not be recorded');
  logger.debug({ exitStatus: report.exitStatus }, 'run ended');
}

function logSelection(logger: Logger, { selected, status }: RunReport): void {
  for (const domain of selected?.added ?? []) logger.info({ domain }, 'domain names this host');
  for (const domain of selected?.leaving ?? []) logger.warn({ domain }, 'domain no longer names this host');
  for (const domain of selected?.removed ?? [])
    logger.warn({ domain }, 'bundle removed: its domain has not named this host for a day');
  if (status.selection?.error !== undefined)
    logger.warn({ error: status.selection.error }, 'list of domains not updated');
}
