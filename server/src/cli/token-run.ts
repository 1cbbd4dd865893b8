import { type KeptTokenOutcome, openTokenKeeper } from '@signet/client';
import { formatTimestamp } from '@signet/policy-engine/clock';
import { writeLines } from '@signet/policy-engine/internal/output';
import { Command } from 'commander';
import { escapeControls } from '../base/terminal-text.ts';
import { createLogger, type Logger } from '../logger.ts';
import { type ConnectionOptions, connectionOptions, openClient } from './connection.ts';
import { action, CommandFailedError } from './run.ts';
import { stopSignal } from './stop-signal.ts';
import { type TokenOptions, tokenOptions, tokenQuery } from './token-options.ts';

interface RunOptions extends ConnectionOptions, TokenOptions {
  readonly out: string;
  readonly once?: boolean;
  readonly json?: boolean;
}

/** `signet token run`: keeps a token fresh in a file, for programs that can read no more than that. */
export function tokenRunCommand(): Command {
  return tokenOptions(connectionOptions(new Command('run')))
    .description('keep a valid token in a file for other programs until SIGINT or SIGTERM')
    .requiredOption('--out <file>', 'output file with the token only; mode 0600, replaced atomically')
    .option('--once', 'write one token and exit; exit status 1 if none is issued')
    .option('--json', 'print one JSON object per token or failure instead of log lines')
    .action(action(runToken));
}

async function runToken(options: RunOptions): Promise<void> {
  using stop = stopSignal();
  await using client = openClient(options);
  const keeper = openTokenKeeper({ client, query: tokenQuery(options), file: options.out });
  const tell = options.json === true ? printed : logged(createLogger('info'), options.out);
  if (options.once === true) {
    const outcome = await keeper.step({ signal: stop.signal });
    tell(outcome);
    if (outcome.kind === 'failed') throw new CommandFailedError();
    return;
  }
  await keeper.run(stop.signal, (outcome) => {
    // No change, and none before the next step: not worth a line.
    if (outcome.kind !== 'current') tell(outcome);
  });
}

/** Description for the log, without the token itself. */
function described(outcome: KeptTokenOutcome) {
  const { kind, expiresAt, nextAt } = outcome;
  return {
    outcome: kind,
    ...(outcome.kind === 'failed' && { error: outcome.error.message }),
    ...(expiresAt !== undefined && { expires: formatTimestamp(expiresAt) }),
    nextAt: formatTimestamp(nextAt),
  };
}

function printed(outcome: KeptTokenOutcome): void {
  writeLines(`${escapeControls(JSON.stringify(described(outcome)))}\n`);
}

/** Reporter to the log, like other long-running programs (docs/reference/logs.md). */
function logged(logger: Logger, file: string): (outcome: KeptTokenOutcome) => void {
  return (outcome) => {
    const said = { ...described(outcome), file };
    if (outcome.kind === 'failed') logger.error(said, 'no new token');
    else logger.info(said, 'token written');
  };
}
