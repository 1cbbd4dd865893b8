import { Command, InvalidArgumentError, Option } from 'commander';
import { escapeControls } from '../../base/terminal-text.ts';
import { requestStates } from '../../model/change-requests.ts';
import { maxRequestSeconds } from '../../model/record-fields.ts';
import { list, type ReadOptions, reader } from '../manage/commands.ts';
import { manage, manageAll } from '../manage/management-client.ts';
import { planText } from '../plan/plan-text.ts';
import { action, print, printRaw } from '../run.ts';
import {
  parseRequest,
  printRequest,
  requestLine,
  type ShownRequest,
  secondsOf,
  spanText,
  subjectOf,
} from './request-answer.ts';

interface RoleOptions extends ReadOptions {
  readonly for: number;
  readonly reason: string;
}

interface ListOptions extends ReadOptions {
  readonly state?: string;
  readonly domain?: string;
  readonly author?: string;
  readonly awaiting?: string;
}

interface ShowOptions extends ReadOptions {
  readonly files?: boolean;
}

/** `signet request …`. */
export function requestCommand(): Command {
  return new Command('request')
    .description('request roles for a time; list and show change requests')
    .addCommand(
      reader('role', 'request a role for oneself, for a limited time')
        .argument('<domain>')
        .argument('<role>')
        .requiredOption('--for <time>', 'how long, such as 30m, 4h or 2d', requestSeconds)
        .requiredOption('--reason <text>', 'reason, which approvers see')
        .action(action(requestRole)),
    )
    .addCommand(
      reader('list', 'list change requests that the caller may view, newest first')
        .addOption(new Option('--state <state>', 'only those in this state').choices(requestStates))
        .option('--domain <domain>', 'only those that change this domain')
        .option('--author <principal>', 'only those of this author')
        .addOption(new Option('--awaiting <who>', 'only those that the caller may approve or review').choices(['me']))
        .action(action(listRequests)),
    )
    .addCommand(
      reader('show', 'show a change request, and its effect as of now')
        .argument('<id>', 'number of the request', requestNumber)
        .option('--files', 'with --json: include the texts of its documents')
        .action(action(showRequest)),
    );
}

/** Number of a request. */
export function requestNumber(text: string): string {
  if (/^[1-9]\d{0,14}$/.test(text)) return text;
  throw new InvalidArgumentError('must be the number of a request');
}

const minRequestSeconds = 60;

function requestSeconds(text: string): number {
  const seconds = secondsOf(text);
  if (seconds !== undefined && seconds >= minRequestSeconds && seconds <= maxRequestSeconds) return seconds;
  const most = spanText(maxRequestSeconds);
  throw new InvalidArgumentError(`must be from ${spanText(minRequestSeconds)} to ${most}, such as 30m, 4h or 2d`);
}

async function requestRole(domain: string, role: string, options: RoleOptions): Promise<void> {
  const body = { role: `${domain}:role.${role}`, seconds: options.for, reason: options.reason };
  printRequest(await manage(options, { method: 'POST', path: ['requests'], body }), options.json);
}

async function listRequests(options: ListOptions): Promise<void> {
  const { state, domain, author, awaiting } = options;
  const filters = Object.entries({ state, domain, author, awaiting });
  const query = Object.fromEntries(filters.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
  if (options.json === true) return await list(options, ['requests'], query);
  const found = (await manageAll(options, ['requests'], query)).map(parseRequest);
  const rows = found.map((one) => {
    const { id, state, author, expires, needed, approvals } = one;
    return { id, state, author, approvals: `${approvals.length}/${needed}`, expires, request: subjectOf(one) };
  });
  print(rows, false);
}

async function showRequest(id: string, options: ShowOptions): Promise<void> {
  const query: Record<string, string> = options.files === true ? { files: 'true' } : {};
  const answer = await manage(options, { method: 'GET', path: ['requests', id], query });
  if (options.json === true) print(answer, true);
  else describeRequest(parseRequest(answer));
}

/** Prints a request for a person: what, who, why, who approved, and its effect. */
export function describeRequest(request: ShownRequest): void {
  const { author, created, expires, reason, approvals, plan, problem, seenByAuthor } = request;
  const lines = [
    requestLine(request),
    `  by ${author}, ${created}; expires ${expires}`,
    ...(reason === undefined ? [] : [`  reason: ${reason}`]),
    ...approvals.map(({ by, at, comment, current }) => {
      const stale = current ? '' : ' (for another effect: no longer counts)';
      return `  approved by ${by}, ${at}${stale}${comment === undefined ? '' : `: ${comment}`}`;
    }),
    ...(seenByAuthor === false ? ['  the effect is not the one that its author saw'] : []),
    ...(problem === undefined ? [] : [`  cannot be applied now: ${problem}`]),
  ];
  printRaw(`${lines.map(escapeControls).join('\n')}\n`);
  if (plan === undefined) return;
  // Its lines are escaped, and have colors on a terminal.
  process.stdout.write(`\n${planText(plan, process.stdout)}`);
  printRaw(`digest ${escapeControls(plan.digest)}\n`);
}
