import { parseDomainName, parsePolicyName, parseRoleName } from '@signet/policy-engine/names';
import { emptyDomain } from '@signet/server/model/empty-domain';
import type { DomainRecord } from '@signet/server/model/records';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import type { Snapshot } from '@signet/server/snapshot/snapshot';

export interface ImpactWorkload {
  readonly name: string;
  readonly before: Snapshot;
  readonly after: Snapshot;
}

interface Size {
  readonly assertions: number;
  readonly members: number;
}

const roles = 100;
const rolesAMember = 3;

/** Domain with assertions over exact names, prefixes and everything; every member is in three of a hundred roles, so that no two are alike. */
function domainOf({ assertions, members }: Size, shift: number): DomainRecord {
  const domain = parseDomainName('bench');
  const name = (index: number) => `team${index % 25}/item-${index}`;
  const rules = Array.from({ length: assertions }, (_, index) => ({
    id: index + 1,
    effect: index % 50 === 7 ? ('DENY' as const) : ('ALLOW' as const),
    role: `bench:role.role${(index * 7) % roles}`,
    action: ['read', 'write', 'delete', '*'][index % 4] ?? 'read',
    resource: `bench:${index % 10 === 3 ? `team${index % 25}/*` : name(index + shift)}`,
    caseSensitive: false,
  }));
  const inRole = new Map<number, string[]>();
  for (let index = 0; index < members; index += 1) {
    for (let at = 0; at < rolesAMember; at += 1) {
      const role = (index * (at * 2 + 1) + at * 31 + (index % 10 === 0 ? shift : 0)) % roles;
      inRole.set(role, [...(inRole.get(role) ?? []), `clients.service${index}`]);
    }
  }
  return {
    ...emptyDomain(domain),
    policyVersion: 1,
    policyModified: 0,
    roles: Array.from({ length: roles }, (_, index) => ({
      name: parseRoleName(`role${index}`),
      members: [...new Set(inRole.get(index) ?? [])].map((member) => ({ name: member, disabled: false })),
    })),
    policies: [
      {
        name: parsePolicyName('rules'),
        version: '0',
        active: true,
        caseSensitive: false,
        modified: 0,
        assertions: rules,
      },
    ],
  };
}

function snapshotOf(size: Size, shift: number): Snapshot {
  const state = { epoch: 1, counter: 1, head: '' };
  const domains = [domainOf(size, shift)];
  return compileSnapshot(undefined, { state, domains, deleted: [], signingKeys: [] }).snapshot;
}

/** A change that moves a tenth of the members and every exact resource, and one that changes nothing but ten resources. */
export function impactWorkloads(size: Size): ImpactWorkload[] {
  const before = snapshotOf(size, 0);
  return [
    { name: 'every rule and a tenth of the members change', before, after: snapshotOf(size, 1) },
    { name: 'nothing changes', before, after: snapshotOf(size, 0) },
  ];
}
