import { generateKeyPairSync } from 'node:crypto';
import {
  parseDomainName,
  parseKeyId,
  parsePolicyName,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import { emptyDomain } from '@signet/server/model/empty-domain';
import type { AssertionRecord, DomainContent, MemberRecord, RoleRecord } from '@signet/server/model/records';
import type { Store } from '@signet/server/model/store';
import { diffDomains } from '@signet/server/store/diff-domains';

/** Size of a store. Everything is spread evenly, apart from one role of the first domain. */
export interface StoreSize {
  readonly domains: number;
  readonly roles: number;
  readonly members: number;
  readonly assertions: number;
  /** How many of the members are in one single role. */
  readonly largestRole: number;
}

const domainsATransaction = 250;

/** The name of a generated domain. */
export function domainName(index: number): string {
  return `tenant-${String(index).padStart(5, '0')}`;
}

/** Fills a store through its own code, in a few large transactions; the same size gives the same content. */
export async function fillStore(store: Store, size: StoreSize): Promise<void> {
  const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ type: 'spki', format: 'pem' });
  for (let start = 0; start < size.domains; start += domainsATransaction) {
    await store.change({ actor: 'sys.auth.operator' }, async (transaction) => {
      const end = Math.min(size.domains, start + domainsATransaction);
      for (let index = start; index < end; index += 1) {
        await transaction.save(diffDomains(undefined, contentOf(size, index, pem.toString())));
      }
    });
  }
}

/** Domain number `index`: its share of the roles, members and rules, and one service with a key. */
function contentOf(size: StoreSize, index: number, pem: string): DomainContent {
  const name = parseDomainName(domainName(index));
  const roles = Math.round(size.roles / size.domains);
  const membersARole = Math.round((size.members - size.largestRole) / size.roles);
  const assertions = Math.round(size.assertions / size.domains);
  return {
    ...emptyDomain(name),
    roles: Array.from({ length: roles }, (_, role): RoleRecord => {
      const count = index === 0 && role === 0 ? membersARole + size.largestRole : membersARole;
      return { name: parseRoleName(`role${role}`), members: membersOf(size, index * roles + role, count) };
    }),
    policies: [
      {
        name: parsePolicyName('rules'),
        version: '0',
        active: true,
        caseSensitive: false,
        assertions: Array.from({ length: assertions }, (_, rule): AssertionRecord => {
          const role = `${name}:role.role${rule % roles}`;
          const resource = `${name}:collection${rule}.${rule % 4 === 3 ? '*' : 'item'}`;
          return { effect: 'ALLOW', role, action: rule % 2 === 0 ? 'read' : 'write', resource, caseSensitive: false };
        }),
      },
    ],
    services: [
      {
        name: parseServiceName('api'),
        enabled: true,
        hosts: [],
        publicKeys: [{ id: parseKeyId('0'), pem }],
      },
    ],
  };
}

/** Services of other domains; every tenth member has an end far away. */
function membersOf(size: StoreSize, seed: number, count: number): MemberRecord[] {
  const members = Array.from({ length: count }, (_, index): MemberRecord => {
    const place = seed * 7919 + index;
    const name = `${domainName(place % size.domains)}.service${Math.floor(index / size.domains)}-${place % 10}`;
    return { name, disabled: false, ...(place % 10 === 0 && { expires: 4_102_444_800_000 }) };
  });
  return members.sort((a, b) => (a.name < b.name ? -1 : 1));
}
