import { formatTimestamp } from '@signet/policy-engine/clock';
import { Command } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import type { Store } from '../model/store.ts';
import { openStore } from '../store/open.ts';
import { action, CommandFailedError, configPathOf, print, UsageError } from './run.ts';

interface ListOptions {
  readonly subject?: string;
  readonly limit: string;
  readonly json?: boolean;
}

interface VerifyOptions {
  readonly head?: string;
  readonly json?: boolean;
}

/** `signet audit list | verify`. */
export function auditCommand(): Command {
  const audit = new Command('audit').description('who changed what, when and why');
  audit
    .command('list')
    .description('the newest changes first')
    .option('--subject <name>', 'only those of a domain, signing key, certificate or principal')
    .option('--limit <number>', 'at most this many', '20')
    .option('--json', 'print JSON')
    .action(action(list));
  audit
    .command('verify')
    .description('check that no record was changed, removed or added; exit status 1 when one was')
    .option('--head <hash>', 'a head noted earlier, through which the chain must pass')
    .option('--json', 'print JSON')
    .action(action(verify));
  return audit;
}

async function list(options: ListOptions, command: Command): Promise<void> {
  const limit = Number(options.limit);
  if (!Number.isInteger(limit) || limit < 1) throw new UsageError('--limit takes an integer from 1');
  await withStore(command, async (store) => {
    const records = await store.audit({ limit, ...(options.subject !== undefined && { subject: options.subject }) });
    const shown = records.map(({ at, ...record }) => ({ at: formatTimestamp(at), ...record }));
    if (options.json === true) print(shown, true);
    else
      print(
        shown.map(({ before: _, after: __, ...record }) => record),
        false,
      );
  });
}

async function verify(options: VerifyOptions, command: Command): Promise<void> {
  await withStore(command, async (store) => {
    const verdict = await store.verifyAudit(options.head);
    if (options.json === true) print(verdict, true);
    else print(verdict.fault ?? `${verdict.records} records, head ${verdict.head}`, false);
    if (verdict.fault !== undefined) throw new CommandFailedError();
  });
}

async function withStore(command: Command, work: (store: Store) => Promise<void>): Promise<void> {
  const { store: place } = loadConfig(configPathOf(command), processEnvironment());
  const store = await openStore(place, { readonly: true });
  try {
    await work(store);
  } finally {
    await store.close();
  }
}
