import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePolicyName, parsePrincipalName } from '@signet/policy-engine/names';
import type { StorePlace } from '@signet/server/config/store-place';
import { createLogger } from '@signet/server/logger';
import { changeDomain, type ManagementDeps } from '@signet/server/management/change-domain';
import { creation } from '@signet/server/management/create-domain';
import { openDryRuns } from '@signet/server/management/dry-runs';
import { readNewDomain } from '@signet/server/management/edits/edit-domains';
import { deleteMember, parseMemberList, putMember } from '@signet/server/management/edits/edit-member-lists';
import { putPolicy } from '@signet/server/management/edits/edit-policies';
import { type DomainEdit, editing } from '@signet/server/management/judge-edit';
import { openLiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import { openStore } from '@signet/server/store/open';
import { domainName } from './fill-store.ts';

export const changeKinds = [
  'a member of a role of ten',
  'a member of the largest role',
  'a policy of its domain',
  'a policy of another domain',
  'a new domain',
] as const;
export type ChangeKind = (typeof changeKinds)[number];

/** Makes changes as the management API does, rights, rules and audit included, and lets the snapshot follow each. */
export interface Changer {
  /** Number `turn` of its kind; members come with even numbers and go with the odd ones after them. */
  change(kind: ChangeKind, turn: number): Promise<void>;
  /** Adds another member for each `turn`, to a role of ten; each of many turns in a row changes another domain. */
  addMember(turn: number): Promise<void>;
  close(): Promise<void>;
}

const many = 1_000_000;
/** Number of domains in the smallest store, but for the first. */
const differentDomains = 99;
const quotas = {
  roles: many,
  members: many,
  groups: many,
  policies: many,
  assertions: many,
  services: many,
  keys: many,
};
const [large, small] = [parseDomainName(domainName(0)), parseDomainName(domainName(1))];

/** Opens a store of its own beside those of other processes. */
export async function openChanger(place: StorePlace): Promise<Changer> {
  const store = await openStore(place);
  const live = await openLiveSnapshot({ store, clock: systemClock, refreshIntervalMs: 3_600_000 });
  const snapshot = () => live.current();
  const refresh = () => live.refresh();
  const clock = systemClock;
  const dryRuns = openDryRuns({ place, logger: createLogger('silent') });
  const deps: ManagementDeps = {
    store,
    snapshot,
    snapshotAt: live.at,
    refresh,
    changed: refresh,
    clock,
    quotas,
    dryRuns,
  };
  const caller = parsePrincipalName('sys.auth.operator');
  const request = { caller, context: { actor: caller }, mustBeNew: false, dryRun: false, allowWildcard: false };
  return {
    async change(kind, turn) {
      if (kind === 'a new domain') {
        const content = readNewDomain({ domain: `fresh-${process.pid}-${turn}`, admins: ['sys.auth.operator'] });
        await changeDomain(deps, request, creation(content));
      } else await changeDomain(deps, request, editing(editOf(kind, turn)));
    },
    async addMember(turn) {
      const role = parseMemberList('role', parseDomainName(domainName(1 + (turn % differentDomains))), 'role1');
      await changeDomain(deps, request, editing(putMember(role, `fresh.of-${process.pid}-${turn}`, {})));
    },
    async close() {
      await dryRuns.close();
      await live.close();
      await store.close();
    },
  };
}

function editOf(kind: Exclude<ChangeKind, 'a new domain'>, turn: number): DomainEdit {
  switch (kind) {
    case 'a member of a role of ten':
      return memberEdit(small, turn);
    case 'a member of the largest role':
      return memberEdit(large, turn);
    case 'a policy of its domain':
      return policyEdit(large, turn);
    case 'a policy of another domain':
      return policyEdit(small, turn);
  }
}

function memberEdit(domain: typeof large, turn: number): DomainEdit {
  const role = parseMemberList('role', domain, 'role0');
  const member = `fresh.member-${turn >> 1}`;
  return turn % 2 === 0 ? putMember(role, member, {}) : deleteMember(role, member);
}

function policyEdit(domain: typeof large, turn: number): DomainEdit {
  const path = { domain, name: parsePolicyName('fresh') };
  return putPolicy(path, [{ action: `action${turn}`, resource: 'thing', role: 'role1' }]);
}
