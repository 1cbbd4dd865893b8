import type { PolicyInput, Status } from '@signet/policy-engine';
import {
  type ActionName,
  type DomainName,
  type PolicyName,
  type PrincipalName,
  parseRoleName,
  type RoleName,
} from '@signet/policy-engine/names';
import { checkAccess } from '@signet/server/access/check-access';
import { compileSnapshot } from '@signet/server/snapshot/compile-snapshot';
import type { DomainRecord, RoleRecord } from '@signet/server/store/records';

export interface Asked {
  readonly roles: readonly string[];
  readonly action: string;
  readonly resource: string;
}

/** Whether the server can hold these roles at all: its names have a grammar, the engine takes any text. */
export function canHold(roles: readonly string[]): boolean {
  return roles.every((role) => {
    try {
      return parseRoleName(role) === role;
    } catch {
      return false;
    }
  });
}

/** The server's access check over the same policies: each request gets a principal that holds just its roles. */
export function throughServer(domain: string, policies: readonly PolicyInput[], requests: readonly Asked[]): Status[] {
  const name = domain as DomainName;
  const members = new Map<string, string[]>();
  requests.forEach(({ roles }, index) => {
    for (const role of roles) members.set(role, [...(members.get(role) ?? []), `user.p${index}`]);
  });
  const record: DomainRecord = {
    name,
    enabled: true,
    limits: {},
    groups: [],
    services: [],
    version: 1,
    modified: 0,
    roles: [...members].map(([role, names]): RoleRecord => {
      return { name: role as RoleName, members: names.map((member) => ({ name: member, disabled: false })) };
    }),
    policies: policies.map(({ name: policy, assertions }) => ({
      name: policy as PolicyName,
      version: '0',
      active: true,
      caseSensitive: false,
      modified: 0,
      assertions: assertions.map((assertion, index) => ({
        effect: 'ALLOW',
        caseSensitive: false,
        ...assertion,
        id: index + 1,
      })),
    })),
  };
  const { snapshot, problems } = compileSnapshot(undefined, {
    state: { epoch: 1, counter: 1 },
    domains: [record],
    deleted: [],
    signingKeys: [],
  });
  if (problems.length > 0) throw problems[0]?.error;
  return requests.map(({ action, resource }, index) => {
    const principal = `user.p${index}` as PrincipalName;
    return checkAccess(snapshot, { principal, action: action as ActionName, resource }, 0).decision.status;
  });
}
