import { type ExitStatus, exitStatus } from '../exit-status.ts';
import { createLogger, logReport } from '../logger.ts';
import type { RunReport } from '../run-once.ts';
import { openUpdater } from '../updater.ts';
import type { CommandContext } from './context.ts';

/** Single run, for a timer of the system or by hand. */
export async function once(context: CommandContext): Promise<ExitStatus> {
  const { config, clock, signal, json, print } = context;
  await using updater = await openUpdater({ config, clock });
  const report = await updater.run(signal);
  logReport(createLogger(config.logLevel), report, clock.now());
  if (json)
    print(JSON.stringify({ exitStatus: report.exitStatus, domains: report.status.domains, problem: report.idle }));
  else printOutcomes(report, print);
  return signal.aborted ? exitStatus.unreachable : report.exitStatus;
}

function printOutcomes(report: RunReport, print: (line: string) => void): void {
  if (report.idle !== undefined) print(report.idle);
  for (const [domain, { outcome, epoch, version, expires, error }] of Object.entries(report.status.domains)) {
    const held = version === undefined ? 'no bundle' : `version ${epoch}.${version}, expires ${expires}`;
    print(`${domain}: ${outcome} (${held})${error === undefined ? '' : `: ${error}`}`);
  }
}
