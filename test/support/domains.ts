import {
  parseDomainName,
  parseGroupName,
  parsePolicyName,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import { emptyDomain } from '@signet/server/model/empty-domain';
import type { AssertionRecord, DomainContent, DomainRecord, MemberRecord } from '@signet/server/model/records';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import type { Snapshot } from '@signet/server/snapshot/snapshot';

/** A member: its name, or its name with what differs from a plain lasting one. */
export type MemberSketch = string | (Partial<MemberRecord> & { readonly name: string });

/** A rule in short: `allow read movie reader`, names of the domain itself. */
export type RuleSketch = string;

export interface DomainSketch {
  readonly enabled?: boolean;
  readonly approvals?: number;
  /** Roles with approvals. */
  readonly protects?: Readonly<Record<string, number>>;
  readonly roles?: Readonly<Record<string, readonly MemberSketch[] | { readonly trust: string }>>;
  readonly groups?: Readonly<Record<string, readonly MemberSketch[]>>;
  readonly rules?: readonly RuleSketch[];
  readonly services?: readonly (string | { readonly name: string; readonly enabled: boolean })[];
}

/** A domain from a sketch. */
export function domainContent(name: string, sketch: DomainSketch = {}): DomainContent {
  const roles = Object.entries(sketch.roles ?? {}).map(([name, members]) => {
    const approvals = sketch.protects?.[name];
    const role = { name: parseRoleName(name), ...(approvals !== undefined && { approvals }) };
    return 'trust' in members
      ? { ...role, trust: parseDomainName(members.trust), members: [] }
      : { ...role, members: members.map(member) };
  });
  const groups = Object.entries(sketch.groups ?? {});
  const rules = sketch.rules ?? [];
  return {
    ...emptyDomain(parseDomainName(name)),
    enabled: sketch.enabled ?? true,
    ...(sketch.approvals !== undefined && { approvals: sketch.approvals }),
    roles,
    groups: groups.map(([group, members]) => ({ name: parseGroupName(group), members: members.map(member) })),
    policies:
      rules.length === 0
        ? []
        : [
            {
              name: parsePolicyName('rules'),
              version: '0',
              active: true,
              caseSensitive: false,
              assertions: rules.map((rule) => assertion(name, rule)),
            },
          ],
    services: (sketch.services ?? []).map((service) => ({
      name: parseServiceName(typeof service === 'string' ? service : service.name),
      enabled: typeof service === 'string' ? true : service.enabled,
      hosts: [],
      publicKeys: [],
    })),
  };
}

function member(sketch: MemberSketch): MemberRecord {
  return typeof sketch === 'string' ? { name: sketch, disabled: false } : { disabled: false, ...sketch };
}

function assertion(domain: string, rule: RuleSketch): AssertionRecord {
  const [effect, action = '', resource = '', role = ''] = rule.split(' ');
  return {
    effect: effect === 'deny' ? 'DENY' : 'ALLOW',
    action,
    resource: resource.includes(':') ? resource : `${domain}:${resource}`,
    role: `${domain}:role.${role}`,
    caseSensitive: false,
  };
}

/** Record as the store would return it. */
export function stored(content: DomainContent, version = 1): DomainRecord {
  const policies = content.policies.map((policy) => ({
    ...policy,
    modified: 0,
    assertions: policy.assertions.map((rule, index) => ({ ...rule, id: index + 1 })),
  }));
  return { ...content, policyVersion: version, policyModified: 0, policies };
}

/** A snapshot of these domains, which says nothing of services that they do not have. */
export function snapshotOf(domains: Readonly<Record<string, DomainSketch>>): Snapshot {
  return compileSnapshot(undefined, {
    state: { epoch: 1, counter: 1, head: '' },
    domains: Object.entries(domains).map(([name, sketch]) => stored(domainContent(name, sketch))),
    deleted: [],
    signingKeys: [],
    isPart: true,
  }).snapshot;
}
