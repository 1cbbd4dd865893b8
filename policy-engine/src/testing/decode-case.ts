import { parseTimestamp } from '../clock.ts';
import { PolicyEngineError } from '../errors.ts';
import { type DomainName, parseDomainName } from '../names/index.ts';
import { conditionKeys, type DecisionContext, type Status, statuses } from '../policy/index.ts';

/** Query to a policy and the answer that its author expects: an entry of a `<domain>.cases.yaml`. */
export interface PolicyCase {
  /** Purpose of the case. */
  note?: string;
  /** Caller: a principal whose roles `rolesOf` knows, or the roles themselves. One of the two. */
  principal?: string;
  roles?: readonly string[];
  /** The principal or the roles are meant not to exist: `signet test` does not warn of them. A run does not look at it. */
  unknown?: boolean;
  /** Default: the `domain` of the run. */
  domain?: string;
  action: string;
  /** `domain:entity`, or `entity` alone. */
  resource: string;
  /** `allow`, `deny` (for any reason that lies in the policy), or an exact status. */
  expect: 'allow' | 'deny' | Status;
  /** Time at which the membership of the principal is evaluated, in UTC, e.g. `2026-01-02T03:04:05Z`. Default: the time of the run. */
  at?: string;
  /** Values of the host for assertions with conditions. */
  context?: DecisionContext;
}

/** A case whose members were checked. `at` is in milliseconds since the epoch. */
export interface CheckedCase {
  readonly note: string | undefined;
  readonly subject:
    | { readonly kind: 'principal'; readonly principal: string }
    | { readonly kind: 'roles'; readonly roles: readonly string[] };
  readonly domain: DomainName;
  readonly action: string;
  readonly resource: string;
  readonly expect: PolicyCase['expect'];
  readonly at: number | undefined;
  readonly context: DecisionContext | undefined;
}

const members: ReadonlySet<string> = new Set([
  'note',
  'principal',
  'roles',
  'unknown',
  'domain',
  'action',
  'resource',
  'expect',
  'at',
  'context',
]);
const answers: ReadonlySet<unknown> = new Set(['allow', 'deny', ...statuses]);

/** Reads one parsed entry. Throws `PolicyEngineError('invalid-options')` that names the entry (from 1) and the member. */
export function decodeCase(value: unknown, index: number, defaultDomain: string | undefined): CheckedCase {
  const fail = (problem: string): PolicyEngineError =>
    new PolicyEngineError('invalid-options', `case ${index + 1}: ${problem}`);
  if (!isRecord(value)) throw fail('it must be an object');
  const unknown = Object.keys(value).find((member) => !members.has(member));
  if (unknown !== undefined) throw fail(`\`${unknown}\` is not a member of a case`);
  const { note, domain = defaultDomain, action, resource, expect } = value;
  if (note !== undefined && typeof note !== 'string') throw fail('`note` must be a string');
  if (value['unknown'] !== undefined && typeof value['unknown'] !== 'boolean') {
    throw fail('`unknown` must be true or false');
  }
  if (domain === undefined) throw fail('neither the case nor the run names a `domain`');
  if (typeof action !== 'string' || typeof resource !== 'string') throw fail('`action` and `resource` must be strings');
  if (!isAnswer(expect)) throw fail('`expect` is neither `allow` nor `deny` nor a status');
  const at = typeof value['at'] === 'string' ? parseTimestamp(value['at']) : undefined;
  if (value['at'] !== undefined && at === undefined) throw fail('`at` is not a time in UTC');
  const context = value['context'];
  if (!isContext(context)) throw fail(`\`context\` must be an object of strings; keys: ${conditionKeys.join(', ')}`);
  const subject = readSubject(value);
  if (subject === undefined) throw fail('it needs either `principal` or `roles`');
  return {
    note,
    subject,
    domain: parseDomainName(domain, `case ${index + 1}: \`domain\``),
    action,
    resource,
    expect,
    at,
    context,
  };
}

function readSubject({ principal, roles }: Record<string, unknown>): CheckedCase['subject'] | undefined {
  if ((principal === undefined) === (roles === undefined)) return undefined;
  if (typeof principal === 'string') return { kind: 'principal', principal };
  return isTexts(roles) ? { kind: 'roles', roles } : undefined;
}

function isAnswer(value: unknown): value is PolicyCase['expect'] {
  return answers.has(value);
}

function isContext(value: unknown): value is DecisionContext | undefined {
  if (value === undefined) return true;
  const isKey = (name: string) => conditionKeys.some((key) => key === name);
  return isRecord(value) && Object.entries(value).every(([name, one]) => isKey(name) && typeof one === 'string');
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'string');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
