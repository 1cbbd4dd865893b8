import { systemClock } from '@signet/policy-engine/clock';
import { parseActionName, parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { Command } from 'commander';
import { describeConditions } from '../management/describe-assertion.ts';
import { describePath } from '../management/describe-explanation.ts';
import type { AccessEntry } from '../management/list-access.ts';
import type { ConnectionOptions } from './connection.ts';
import { given } from './manage/commands.ts';
import { manageAll } from './manage/management-client.ts';
import { action, configPathOf, print } from './run.ts';
import { asksServer, sourceOptions } from './source.ts';

interface ListOptions extends ConnectionOptions {
  readonly principal: string;
  readonly action?: string;
  readonly domain?: string;
  readonly documents?: string;
  readonly json?: boolean;
}

/** `signet access list`: the access of a principal. */
export function listCommand(): Command {
  return sourceOptions(new Command('list').description('list the access of a principal, with roles and denials'))
    .requiredOption('--principal <name>', 'principal to check')
    .option('--action <action>', 'only this action, such as read')
    .option('--domain <domain>', 'only this domain')
    .option('--documents <dir>', 'read domain documents instead of a server or the store')
    .option('--json', 'print JSON')
    .action(action(listAccess));
}

async function listAccess(options: ListOptions, command: Command): Promise<void> {
  const query = {
    principal: parsePrincipalName(options.principal),
    ...(options.action !== undefined && { action: parseActionName(options.action) }),
    ...(options.domain !== undefined && { domain: parseDomainName(options.domain) }),
  };
  const entries =
    options.documents === undefined && asksServer(options)
      ? ((await manageAll(options, ['access'], given(query))) as AccessEntry[])
      : await listLocally(query, options, command);
  if (options.json === true) {
    print(entries, true);
    return;
  }
  for (const line of describe(entries)) print(line, false);
}

type Query = Parameters<typeof import('../management/list-access.ts').listAccessInSteps>[1];

/** Loaded only here: a question to a server needs no database. */
async function listLocally(query: Query, { documents }: ListOptions, command: Command): Promise<AccessEntry[]> {
  const { readSnapshotOf } = await import('./read-snapshot.ts');
  const { listAccessInSteps } = await import('../management/list-access.ts');
  const { runAtOnce } = await import('../steps/steps.ts');
  const now = systemClock.now();
  const source = { documents, configFile: () => configPathOf(command), ...query };
  const snapshot = await readSnapshotOf(source, now);
  const nothing = () => undefined;
  const deps = { snapshot, now, isSelf: true, sees: () => true, looked: nothing, compared: nothing };
  return runAtOnce(listAccessInSteps(deps, query, { after: '', limit: Number.POSITIVE_INFINITY }));
}

function describe(entries: readonly AccessEntry[]): string[] {
  const lines = entries.map((entry) => describeEntry(entry));
  return lines.length === 0 ? ['nothing'] : lines;
}

function describeEntry(entry: AccessEntry): string {
  const through = entry.through.map(({ role, paths }) => {
    const ways = paths.map(describePath).join(', ');
    return `role ${role}${ways === '' ? '' : ` (${ways})`}`;
  });
  const denied = entry.denied === true ? ', denied by another assertion,' : '';
  const { effect, action: what, resource } = entry;
  const where = describeConditions(entry.conditions);
  return `${effect} ${what} on ${resource}${where}${denied} through ${through.join('; ')}, by policy ${entry.policy}`;
}
