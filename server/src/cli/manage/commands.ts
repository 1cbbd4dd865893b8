import { formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { conditionKeys, conditionOperators } from '@signet/policy-engine/policy';
import { Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { describeImpact } from '../../management/describe-impact.ts';
import { type ConnectionOptions, managementOptions } from '../connection.ts';
import { describeField } from '../describe-field.ts';
import { printRequest } from '../request/request-answer.ts';
import { print, UsageError, warn } from '../run.ts';
import { type ManagementRequest, manage, manageAll, manageTagged } from './management-client.ts';

export interface ReadOptions extends ConnectionOptions {
  readonly json?: boolean;
}

export interface WriteOptions extends ReadOptions {
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly allowWildcard?: boolean;
  readonly removeMemberships?: boolean;
  readonly reuseName?: boolean;
  readonly request?: boolean;
  readonly breakGlass?: boolean;
}

/** A command that reads. */
export function reader(name: string, description: string): Command {
  return managementOptions(new Command(name)).description(description).option('--json', 'print JSON');
}

/** Adds the options for a change that needs approvals. */
export function approvalOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--request', 'if approvals are needed, store the change as a request').conflicts('breakGlass'),
    )
    .option(
      '--break-glass',
      'in an emergency: change at once without approval; another person reviews it (needs --reason)',
    );
}

/** Query of these options. Throws `UsageError`. */
export function approvalQuery({
  request,
  breakGlass,
  reason,
}: Pick<WriteOptions, 'request' | 'breakGlass' | 'reason'>): Record<string, string> {
  if (breakGlass === true && reason === undefined) throw new UsageError('--break-glass requires --reason');
  return { ...(request === true && { request: 'true' }), ...(breakGlass === true && { breakGlass: 'true' }) };
}

/** A command that changes something. */
export function writer(name: string, description: string): Command {
  return approvalOptions(reader(name, description))
    .option('--reason <text>', 'reason, recorded in the audit log')
    .option('--dry-run', 'show what would change, and who gains or loses access, without changing it')
    .option('--allow-wildcard', 'allow `*` and prefix patterns as members')
    .option('--remove-memberships', 'remove deleted objects from the roles and groups that list them')
    .option('--reuse-name', 'reuse a deleted name that is still reserved');
}

export async function show(options: ReadOptions, path: readonly string[]): Promise<void> {
  print(await manage(options, { method: 'GET', path }), options.json);
}

export async function list(
  options: ReadOptions,
  path: readonly string[],
  query: Readonly<Record<string, string>> = {},
): Promise<void> {
  print(await manageAll(options, path, query), options.json);
}

/** Lists what was changed, newest first; what it was before and after is for `--json`, as in `signet audit list`. */
export async function listChanges(options: ReadOptions, path: readonly string[]): Promise<void> {
  const items = await manageAll(options, [...path, 'changes']);
  const isShown = ([name]: readonly [string, unknown]) => name !== 'before' && name !== 'after';
  const brief = items.map((item) => Object.fromEntries(Object.entries(Object(item)).filter(isShown)));
  print(options.json === true ? items : brief, options.json);
}

/** Status of an answer to a change that waits for approvals. */
export const requestStored = 202;

/** Makes a change and prints what is there now, or what a dry run said. */
export async function write(options: WriteOptions, request: ManagementRequest): Promise<void> {
  const query = {
    ...(options.reason !== undefined && { reason: options.reason }),
    ...(options.dryRun === true && { dryRun: 'true' }),
    ...(options.allowWildcard === true && { allowWildcard: 'true' }),
    ...(options.removeMemberships === true && { removeMemberships: 'true' }),
    ...(options.reuseName === true && { reuseName: 'true' }),
    ...approvalQuery(options),
  };
  const { status, body: answer } = await manageTagged(options, { ...request, query });
  if (status === requestStored) {
    printRequest(answer, options.json);
    return;
  }
  if (options.dryRun === true && options.json !== true) {
    describePreview(answer);
    return;
  }
  print(answer ?? (options.json === true ? { deleted: true } : 'deleted'), options.json);
}

/** Prints the server's answer to a dry run; read with its types, as it is of the same release or refused. */
function describePreview(answer: unknown): void {
  const { changes, impact, impactTotals, warnings = [] } = previewSchema.parse(answer);
  for (const warning of warnings) warn(warning);
  for (const { change, kind, domain, name, fields = [] } of changes) {
    print(`${change} ${kind} ${domain}: ${name}`, false);
    for (const field of fields) print(`  ${describeField(field, change === 'create')}`, false);
  }
  for (const line of describeImpact(impact ?? undefined, impactTotals)) print(line, false);
}

const textSet = z.object({ matching: z.array(z.string()), except: z.array(z.string()) });
const operator = z.enum(conditionOperators);
const terms = z.array(z.object({ operator, value: z.string() })).exactOptional();
const otherValues = z.object({
  isNot: z.array(z.string()),
  matching: terms,
  except: terms,
  unreadableBy: z.array(operator).exactOptional(),
});
const contextSet = z.partialRecord(
  z.enum(conditionKeys),
  z.union([z.object({ is: z.string() }), otherValues, z.null()]),
);
const previewSchema = z.object({
  warnings: z.array(z.string()).optional(),
  changes: z.array(
    z.object({
      change: z.string(),
      kind: z.string(),
      domain: z.string(),
      name: z.string(),
      fields: z
        .array(z.object({ field: z.string(), before: z.string().exactOptional(), after: z.string().exactOptional() }))
        .optional(),
    }),
  ),
  impactTotals: z.optional(z.object({ gains: z.number(), losses: z.number(), isExact: z.boolean() })),
  impact: z.nullable(
    z.array(
      z.object({
        change: z.enum(['gain', 'loss']),
        action: textSet,
        resource: textSet,
        contexts: z.array(contextSet).optional(),
        example: z.object({
          principal: z.string(),
          action: z.string(),
          resource: z.string(),
          context: z.partialRecord(z.enum(conditionKeys), z.string()).optional(),
        }),
        domain: z.string(),
        principal: z.string(),
        within: z.string().optional(),
      }),
    ),
  ),
});

/** A time as `2027-01-01T00:00:00Z`, or how far away it is: `7d`, `12h`, `30m`. Throws `UsageError`. */
export function timeOf(text: string): string {
  const span = /^([1-9]\d{0,4})([dhm])$/.exec(text);
  if (span === null) {
    if (/^\d{4}-\d\d-\d\dT/.test(text)) return text;
    throw new UsageError(
      `\`${text}\` is not a time: use one such as \`2027-01-01T00:00:00Z\`, \`7d\`, \`12h\` or \`30m\``,
    );
  }
  const unitMs = new Map([
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['m', 60_000],
  ]).get(span[2] ?? '');
  if (unitMs === undefined) throw new UsageError(`\`${text}\` is not a time`);
  return formatTimestamp(systemClock.now() + Number(span[1]) * unitMs);
}

/** Parser for options that take an integer. */
export function wholeNumber(text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('must be an integer');
}

/** The members that are there, without those that are undefined. */
export function given<Value>(values: Readonly<Record<string, Value | undefined>>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
