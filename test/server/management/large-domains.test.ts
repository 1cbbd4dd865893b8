import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { findFaults } from '@signet/server/management/check-change';
import { changesManagers } from '@signet/server/management/managers';
import { plantedKeys } from '@signet/server/management/planted-keys';
import type { DomainContent } from '@signet/server/model/records';
import { grantedRoles } from '@signet/server/roles/granted-roles';
import test from 'ava';
import { changeOf, factsOf } from '#support/change-facts';
import { assertWithin } from '#support/cost';
import { snapshotOf } from '#support/domains';

/* A domain as large as its quotas allow, made by its own administrator to be dear: every rule compared with every role took minutes. */

const roleCount = 10_000;
const ruleCount = 20_000;
const long = 'a'.repeat(40);
const roleNames = Array.from({ length: roleCount }, (_, index) => `r${long}${index}`);

function domain(rules: number, roleOf: (index: number) => string): DomainContent {
  const assertions = Array.from({ length: rules }, (_, index) => ({
    effect: 'ALLOW',
    role: `evil:role.${roleOf(index)}`,
    action: 'manage_roles',
    resource: 'evil:role.x',
    caseSensitive: false,
  }));
  return {
    name: 'evil',
    enabled: true,
    limits: {},
    roles: roleNames.map((name) => ({ name, members: [] })),
    groups: [],
    services: [],
    policies: [{ name: 'p', version: '0', active: true, caseSensitive: false, assertions }],
  } as never;
}

/** Many times of what it takes, and a hundredth of what comparing all with all takes. */
const boundMs = 10_000;

async function costOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const shapes = {
  'that name roles': (index: number) => roleNames[index % roleCount] ?? '',
  'with wildcards': (index: number) => `*${'a'.repeat(20)}b${index}*`,
};
for (const [title, roleOf] of Object.entries(shapes)) {
  test(`a change of a domain with many roles and rules ${title} costs little beside being read`, async (t) => {
    t.timeout(120_000);
    const [before, after] = [domain(ruleCount, roleOf), domain(ruleCount + 1, roleOf)];
    const change = changeOf(before, after);
    const facts = factsOf(change, [before], { allowWildcard: true });
    const faults = () =>
      findFaults(change, facts).catch((error: unknown) => t.regex(String(error), /too many role patterns/));
    assertWithin(t, 'faults', await costOf(faults), boundMs, 'ms');
    assertWithin(t, 'keys', await costOf(() => plantedKeys(change, facts)), boundMs, 'ms');
    const managers = () => changesManagers(change, { snapshot: {} as never, reader: facts.reader, after: facts.after });
    assertWithin(t, 'managers', await costOf(managers), boundMs, 'ms');
  });
}

test('rules that stay are not compared again when no role goes away', async (t) => {
  const before = domain(ruleCount, shapes['with wildcards']);
  const change = changeOf(before, { ...before, description: 'new' });
  t.deepEqual(await findFaults(change, factsOf(change, [before])), []);
});

test('roles that trust a domain with many rules cost a token little, and those that are named are granted', async (t) => {
  t.timeout(120_000);
  const rule = (role: string) => `allow assume_role evil:role.${role} holder`;
  const rules = Array.from({ length: 5000 }, (_, index) => rule(shapes['with wildcards'](index)));
  const named = rule(roleNames.at(-1) ?? '');
  const trusting = Object.fromEntries(roleNames.map((name) => [name, { trust: 'partner' }]));
  const snapshot = snapshotOf({
    evil: { roles: trusting },
    partner: { roles: { holder: ['partner.api'] }, rules: [...rules, named] },
  });
  const own = snapshot.domain(parseDomainName('evil'));
  if (own === undefined) return t.fail();
  let found: readonly { readonly name: string }[] = [];
  const ask = () => {
    found = grantedRoles(snapshot, own, parsePrincipalName('partner.api'), 0);
  };
  assertWithin(t, 'roles', await costOf(ask), 2000, 'ms');
  t.deepEqual(
    found.map(({ name }) => name),
    [roleNames.at(-1)],
  );
});
