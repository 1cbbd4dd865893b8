import { parseTimestamp } from '../clock.ts';
import { PolicyEngineError } from '../errors.ts';
import type { Steps } from '../steps/steps.ts';
import type { Effect, WireAssertion, WireConditions, WirePolicy } from '../wire/index.ts';

/** The signed part of a bundle with its times in milliseconds since the epoch. */
export interface BundlePayload {
  readonly domain: string;
  readonly epoch: number;
  readonly version: number;
  readonly modified: number;
  readonly issued: number;
  readonly expires: number;
  readonly policies: readonly WirePolicy[];
}

type Json = Record<string, unknown>;

/** Assertions between two yields. */
const sliceLength = 512;

/** Reads the payload from parsed JSON; unknown members are ignored (docs/reference/policy-bundles.md#payload). Throws `bundle-malformed`. */
export function* decodePayload(value: unknown): Steps<BundlePayload> {
  const data = object(value, 'payload');
  if (data['policyVersions'] !== undefined) {
    throw malformed('payload holds chosen versions of policies, not those in force');
  }
  const policyData = object(data['policyData'], 'policyData');
  const payload = {
    domain: text(policyData['domain'], 'policyData.domain'),
    epoch: counter(data['epoch'], 'epoch'),
    version: counter(data['version'], 'version'),
    modified: time(data['modified'], 'modified'),
    issued: time(data['issued'], 'issued'),
    expires: time(data['expires'], 'expires'),
  };
  if (payload.expires <= payload.issued) throw malformed('`expires` is not after `issued`');
  const policies: WirePolicy[] = [];
  for (const entry of list(policyData['policies'], 'policyData.policies')) policies.push(yield* decodePolicy(entry));
  return { ...payload, policies };
}

function* decodePolicy(value: unknown): Steps<WirePolicy> {
  const policy = object(value, 'policy');
  const assertions: WireAssertion[] = [];
  for (const entry of list(policy['assertions'], 'policy.assertions')) {
    assertions.push(decodeAssertion(entry));
    if (assertions.length % sliceLength === 0) yield;
  }
  return {
    name: text(policy['name'], 'policy.name'),
    modified: policy['modified'] === undefined ? '' : text(policy['modified'], 'policy.modified'),
    ...(policy['version'] !== undefined && { version: text(policy['version'], 'policy.version') }),
    ...(policy['active'] !== undefined && { active: flag(policy['active'], 'policy.active') }),
    ...(policy['caseSensitive'] !== undefined && {
      caseSensitive: flag(policy['caseSensitive'], 'policy.caseSensitive'),
    }),
    assertions,
  };
}

function decodeAssertion(value: unknown): WireAssertion {
  const json = object(value, 'assertion');
  const assertion: WireAssertion = {
    role: text(json['role'], 'assertion.role'),
    resource: text(json['resource'], 'assertion.resource'),
    action: text(json['action'], 'assertion.action'),
    // A reader that took a missing effect for ALLOW would grant what another reader denies.
    effect: effect(json['effect']),
  };
  if (json['id'] !== undefined) assertion.id = counter(json['id'], 'assertion.id');
  if (json['caseSensitive'] !== undefined) {
    assertion.caseSensitive = flag(json['caseSensitive'], 'assertion.caseSensitive');
  }
  if (json['conditions'] !== undefined) assertion.conditions = decodeConditions(json['conditions']);
  return assertion;
}

function decodeConditions(value: unknown): WireConditions {
  const sets = list(object(value, 'conditions')['conditionsList'], 'conditions.conditionsList');
  return {
    conditionsList: sets.map((entry) => {
      const set = object(entry, 'condition');
      const map = object(set['conditionsMap'], 'condition.conditionsMap');
      const entries = Object.entries(map).map(([key, condition]) => {
        const { operator, value: wanted } = object(condition, 'condition');
        return [key, { operator: text(operator, 'condition.operator'), value: text(wanted, 'condition.value') }];
      });
      return {
        ...(set['id'] !== undefined && { id: counter(set['id'], 'condition.id') }),
        conditionsMap: Object.fromEntries(entries) as WireConditions['conditionsList'][number]['conditionsMap'],
      };
    }),
  };
}

function effect(value: unknown): Effect {
  if (value === 'ALLOW' || value === 'DENY') return value;
  throw malformed('`assertion.effect` must be ALLOW or DENY');
}

function object(value: unknown, field: string): Json {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Json;
  throw malformed(`\`${field}\` must be an object`);
}

function list(value: unknown, field: string): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw malformed(`\`${field}\` must be an array`);
}

function text(value: unknown, field: string): string {
  if (typeof value === 'string') return value;
  throw malformed(`\`${field}\` must be a string`);
}

function flag(value: unknown, field: string): boolean {
  if (typeof value === 'boolean') return value;
  throw malformed(`\`${field}\` must be a boolean`);
}

function counter(value: unknown, field: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw malformed(`\`${field}\` must be an integer`);
}

function time(value: unknown, field: string): number {
  const milliseconds = typeof value === 'string' ? parseTimestamp(value) : undefined;
  if (milliseconds === undefined) throw malformed(`\`${field}\` is not a time`);
  return milliseconds;
}

function malformed(what: string): PolicyEngineError {
  return new PolicyEngineError('bundle-malformed', `bundle is malformed: ${what}`);
}
