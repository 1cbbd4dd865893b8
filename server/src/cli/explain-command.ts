import { systemClock } from '@signet/policy-engine/clock';
import {
  type DomainName,
  foldAscii,
  type PrincipalName,
  parseActionName,
  parsePrincipalName,
} from '@signet/policy-engine/names';
import { conditionKeys, type DecisionContext } from '@signet/policy-engine/policy';
import { Command, InvalidArgumentError } from 'commander';
import { describeExplanation, describeRole } from '../management/describe-explanation.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { ConnectionOptions } from './connection.ts';
import { manage, manageAll } from './manage/management-client.ts';
import { action, CommandFailedError, configPathOf, print } from './run.ts';
import { asksServer, sourceOptions } from './source.ts';

interface AccessOptions extends ConnectionOptions {
  readonly context?: DecisionContext;
  readonly documents?: string;
  readonly json?: boolean;
}

/** `signet access explain`: why a principal has access or not. */
export function explainCommand(): Command {
  const command = new Command('explain').description(
    'explain why a principal may or may not do an action; exit status 1 if it may not',
  );
  return sourceOptions(command)
    .argument('<action>', 'e.g. read')
    .argument('<resource>', 'domain:entity, e.g. catalog:movie')
    .requiredOption('--principal <name>', 'principal to check')
    .option('--context <key=value>', 'value of a condition key, such as an attribute of the host', addContext)
    .option('--documents <dir>', 'read domain documents instead of a server or the store')
    .option('--json', 'print JSON')
    .action(action(explain));
}

/** `signet access who`: principals with access. */
export function whoCommand(): Command {
  const command = new Command('who').description(
    'list the principals that may do an action on a resource, with roles and policies',
  );
  return sourceOptions(command)
    .argument('<action>', 'e.g. read')
    .argument('<resource>', 'domain:entity, e.g. catalog:movie')
    .option('--context <key=value>', 'value of a condition key, such as an attribute of the host', addContext)
    .option('--documents <dir>', 'read domain documents instead of a server or the store')
    .option('--json', 'print JSON')
    .action(action(who));
}

type ExplainOptions = AccessOptions & { readonly principal: string };

async function explain(actionName: string, resource: string, options: ExplainOptions, command: Command): Promise<void> {
  const query = {
    ...questionOf(actionName, resource, options),
    principal: parsePrincipalName(options.principal),
  };
  const explained = asksServerWith(options)
    ? ((await manage(options, { method: 'GET', path: ['explanation'], query: parametersOf(query) })) as Explained)
    : await explainLocally(query, options, command);
  if (options.json === true) print(explained, true);
  else for (const line of describeExplanation(explained)) print(line, false);
  if (!explained.granted) throw new CommandFailedError();
}

type Explained = Parameters<typeof describeExplanation>[0];

type Question = ReturnType<typeof questionOf>;

async function explainLocally(
  query: Question & { readonly principal: PrincipalName },
  options: AccessOptions,
  command: Command,
): Promise<Explained> {
  const { explainAccess } = await import('../access/explain-access.ts');
  const snapshot = await readSnapshot(query.resource, options, command, query.principal);
  return explainAccess(snapshot, query, systemClock.now());
}

async function who(actionName: string, resource: string, options: AccessOptions, command: Command): Promise<void> {
  const question = questionOf(actionName, resource, options);
  const holders = asksServerWith(options)
    ? ((await manageAll(options, ['grantees'], parametersOf(question))) as Grantees)
    : await whoLocally(question, options, command);
  if (options.json === true) {
    print(holders, true);
    return;
  }
  for (const { principal, through } of holders) print(`${principal}: ${through.map(describeRole).join('; ')}`, false);
  if (holders.length === 0) print('nobody', false);
}

type Grantees = ReturnType<typeof import('../access/list-grantees.ts').listGrantees>;

async function whoLocally(question: Question, options: AccessOptions, command: Command): Promise<Grantees> {
  const { listGrantees } = await import('../access/list-grantees.ts');
  return listGrantees(await readSnapshot(question.resource, options, command), question, systemClock.now());
}

function asksServerWith(options: AccessOptions): boolean {
  return options.documents === undefined && asksServer(options);
}

/** The question as parameters of the management API. */
function parametersOf({ context = {}, ...question }: Question & { readonly principal?: PrincipalName }) {
  const values = Object.entries(context).map(([key, value]) => [`context.${key}`, String(value)]);
  return { ...question, ...Object.fromEntries(values) } satisfies Record<string, string>;
}

function questionOf(actionName: string, resource: string, { context }: AccessOptions) {
  return { action: parseActionName(actionName), resource, ...(context !== undefined && { context }) };
}

function addContext(text: string, known: DecisionContext = {}): DecisionContext {
  const [, name, value] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  const key = conditionKeys.find((one) => one === name?.toLowerCase());
  if (key !== undefined && value !== undefined) return { ...known, [key]: value };
  throw new InvalidArgumentError(`must be key=value; keys: ${conditionKeys.join(', ')}.`);
}

/** The documents, or the store of the configuration. Loaded only here: a question to a server needs no database. */
async function readSnapshot(
  resource: string,
  options: AccessOptions,
  command: Command,
  principal?: PrincipalName,
): Promise<Snapshot> {
  const { readSnapshotOf } = await import('./read-snapshot.ts');
  // Unchecked name, used for a look-up only: a text that is not a domain name finds no domain.
  const domain = foldAscii(resource.slice(0, Math.max(resource.indexOf(':'), 0))) as DomainName;
  const source = { documents: options.documents, configFile: () => configPathOf(command), domain, principal };
  return await readSnapshotOf(source, systemClock.now());
}
