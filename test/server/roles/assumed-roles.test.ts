import { parseActionName, parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { checkAccess } from '@signet/server/access/check-access';
import { explainAccess } from '@signet/server/access/explain-access';
import { directRoles, grantedAmong, grantedRoles } from '@signet/server/roles/granted-roles';
import type { DomainSnapshot, RoleSnapshot, Snapshot } from '@signet/server/snapshot/snapshot';
import test from 'ava';
import fc from 'fast-check';
import { snapshotOf } from '#support/domains';

/* The check of `assume_role`, the list of roles and a token by name decide by one algorithm, whatever is a pattern. */

const now = 1_700_000_000_000;
const rule = fc.record({
  role: fc.constantFrom('s', 't', 's*', '?', '*', 'none'),
  action: fc.constantFrom('assume_role', 'ASSUME_ROLE', 'assume_*', '*', 'read'),
  resource: fc.constantFrom(
    'role.s',
    'role.t',
    'role.*',
    '*',
    'role.none',
    'catalog:role.v',
    'catalog:role.*',
    'catalog:*',
  ),
});
const members = fc.subarray(['user.ann', 'user.*', 'user.eve'], { maxLength: 2 });
const assume = parseActionName('assume_role');
const ann = parsePrincipalName('user.ann');
const partner = parseDomainName('partner');

/** All answers about one role, in words: whether it is listed, held, held by its name, and granted by the checks. */
function answersOf(snapshot: Snapshot, domain: DomainSnapshot, role: RoleSnapshot) {
  const query = { principal: ann, action: assume, resource: `${domain.name}:role.${role.name}` };
  const checks = [checkAccess(snapshot, { ...query, trustDomain: partner }, now).granted];
  if (domain.name === partner) {
    checks.push(checkAccess(snapshot, query, now).granted, explainAccess(snapshot, query, now).granted);
  }
  return {
    isListed: directRoles(snapshot, domain, ann, now).includes(role),
    isHeld: grantedRoles(snapshot, domain, ann, now).includes(role),
    isAmong: grantedAmong(snapshot, domain, ann, { asked: new Set([role.name]), now }).includes(role),
    isGranted: checks[0] === true,
    isOne: new Set(checks).size === 1,
  };
}

test('who may assume a role by the check holds it, and the other way round', (t) => {
  let count = 0;
  fc.assert(
    fc.property(members, members, fc.array(rule, { maxLength: 4 }), (s, u, rules) => {
      const snapshot = snapshotOf({
        catalog: { roles: { v: { trust: 'partner' }, w: { trust: 'partner' } } },
        partner: {
          roles: { s, t: [], u },
          // A policy names other domains in assertions for `assume_role` alone.
          rules: rules
            .filter(({ action, resource }) => /^assume_role$/i.test(action) || !resource.includes(':'))
            .map(({ role, action, resource }) => `allow ${action} ${resource} ${role}`),
        },
      });
      for (const domain of snapshot.domains.values()) {
        for (const role of domain.roles.values()) {
          const { isListed, isHeld, isAmong, isGranted, isOne } = answersOf(snapshot, domain, role);
          const agree = isOne && isHeld === isAmong && isHeld === (isListed || isGranted);
          if (!agree) throw new Error(`${domain.name}:role.${role.name} is decided in two ways`);
          count += Number(isGranted);
        }
      }
    }),
    { numRuns: 1000, seed: 7 },
  );
  t.true(count > 20, String(count));
});
