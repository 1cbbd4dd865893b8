import { parseTimestamp } from '../clock.ts';
import { PolicyEngineError } from '../errors.ts';
import type { Steps } from '../steps/steps.ts';
import type { Effect, WireAssertion, WireConditions, WirePolicy } from '../wire/index.ts';

/** Origin of a payload: an Athenz server, or (`undefined`) a Signet server. */
export type BundleOrigin = 'athenz' | undefined;

/** The signed part of a bundle with its times in milliseconds since the epoch. */
export interface BundlePayload {
  /** Origin `athenz`: the version is `modified` in milliseconds, in the epoch 0, and `issued` is `modified`. Absent in bundles of Signet. */
  readonly origin?: 'athenz';
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

/**
 * Reads the payload from parsed JSON; unknown members are ignored (docs/reference/policy-bundles.md#payload). One that has none of
 * `version`, `issued` and `epoch` is taken for one of an Athenz server where `athenzBundles` is true. Throws `bundle-malformed`.
 */
export function* decodePayload(value: unknown, athenzBundles = false): Steps<BundlePayload> {
  const data = object(value, 'payload');
  if (data['policyVersions'] !== undefined) {
    throw malformed('payload contains selected policy versions, not the active ones');
  }
  const policyData = object(data['policyData'], 'policyData');
  const payload = {
    domain: text(policyData['domain'], 'policyData.domain'),
    ...decodeOrder(data, athenzBundles),
    expires: time(data['expires'], 'expires'),
  };
  if (payload.expires <= payload.issued) throw malformed('`expires` is not after `issued`');
  const policies: WirePolicy[] = [];
  for (const entry of list(policyData['policies'], 'policyData.policies')) {
    policies.push(yield* decodePolicy(entry, payload.origin));
    yield;
  }
  return { ...payload, policies };
}

type PayloadOrder = Pick<BundlePayload, 'origin' | 'epoch' | 'version' | 'modified' | 'issued'>;

/** Fields that order two bundles: which one is newer. */
function decodeOrder(data: Json, athenzBundles: boolean): PayloadOrder {
  const modified = time(data['modified'], 'modified');
  const isOfAthenz = ['version', 'issued', 'epoch'].every((member) => data[member] === undefined);
  if (isOfAthenz && athenzBundles) return { origin: 'athenz', epoch: 0, version: modified, modified, issued: modified };
  if (isOfAthenz) throw malformed('it has no `version`, `issued` and `epoch`; those of Athenz need `athenzBundles`');
  return {
    epoch: counter(data['epoch'], 'epoch'),
    version: counter(data['version'], 'version'),
    modified,
    issued: time(data['issued'], 'issued'),
  };
}

function* decodePolicy(value: unknown, origin: BundleOrigin): Steps<WirePolicy> {
  const policy = object(value, 'policy');
  const assertions: WireAssertion[] = [];
  for (const entry of list(policy['assertions'] ?? (origin === 'athenz' ? [] : undefined), 'policy.assertions')) {
    assertions.push(decodeAssertion(entry, origin));
    if (assertions.length % sliceLength === 0) yield;
  }
  return {
    name: text(policy['name'], 'policy.name'),
    modified: policy['modified'] === undefined ? '' : text(policy['modified'], 'policy.modified'),
    ...(policy['version'] !== undefined && { version: text(policy['version'], 'policy.version') }),
    ...(policy['active'] !== undefined && { active: flag(policy['active'], 'policy.active') }),
    ...decodeCase(policy['caseSensitive'], 'policy.caseSensitive', origin),
    assertions,
  };
}

function decodeAssertion(value: unknown, origin: BundleOrigin): WireAssertion {
  // Fast path: a plain assertion from Signet is kept as parsed; 100,000 copies would burden the garbage collector.
  if (origin === undefined && isPlainAssertion(value)) return value;
  const json = object(value, 'assertion');
  const assertion: WireAssertion = {
    role: text(json['role'], 'assertion.role'),
    resource: text(json['resource'], 'assertion.resource'),
    action: text(json['action'], 'assertion.action'),
    // Elsewhere a reader that took a missing effect for ALLOW would grant what another reader denies.
    effect: effect(json['effect'] === undefined && origin === 'athenz' ? 'ALLOW' : json['effect']),
    ...decodeCase(json['caseSensitive'], 'assertion.caseSensitive', origin),
  };
  if (json['id'] !== undefined) assertion.id = counter(json['id'], 'assertion.id');
  if (json['conditions'] !== undefined) assertion.conditions = decodeConditions(json['conditions']);
  return assertion;
}

/** Checks that a value has exactly the members of an assertion without conditions, each valid. */
function isPlainAssertion(value: unknown): value is WireAssertion {
  if (typeof value !== 'object' || value === null) return false;
  const { role, resource, action, effect, id, caseSensitive } = value as Json;
  if (typeof role !== 'string' || typeof resource !== 'string' || typeof action !== 'string') return false;
  if (effect !== 'ALLOW' && effect !== 'DENY') return false;
  if (id !== undefined && !(Number.isSafeInteger(id) && Number(id) >= 0)) return false;
  if (caseSensitive !== undefined && typeof caseSensitive !== 'boolean') return false;
  return Object.keys(value).length === 4 + Number(id !== undefined) + Number(caseSensitive !== undefined);
}

/** Case flag of a payload. In Athenz it says how texts are stored; they are compared without case all the same. */
function decodeCase(value: unknown, field: string, origin: BundleOrigin): { caseSensitive?: boolean } {
  if (value === undefined) return {};
  const caseSensitive = flag(value, field);
  return origin === 'athenz' ? {} : { caseSensitive };
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
