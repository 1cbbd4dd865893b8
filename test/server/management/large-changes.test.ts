import { parseDomainName } from '@signet/policy-engine/names';
import { describeChanges } from '@signet/server/management/object-changes';
import { type SearchDeps, search } from '@signet/server/management/search';
import test from 'ava';
import { changeOf } from '#support/change-facts';
import { domainContent } from '#support/domain-sketch';

/* More at once than a call of a function takes as arguments. */

const many = 200_000;

test('the changes of a role with very many members are described', (t) => {
  const members = Array.from({ length: many }, (_, index) => `user.m${index}`);
  const changes = describeChanges(changeOf(undefined, domainContent({ name: 'media', roles: { reader: members } })));
  // The domain and the role as well.
  t.is(changes.length, many + 2);
  t.deepEqual(changes.at(-1), { change: 'create', kind: 'member', domain: 'media', name: `reader: user.m${many - 1}` });
});

test('a search that finds very many rules in one domain answers the first ones', async (t) => {
  const name = parseDomainName('media');
  const assertions = Array.from({ length: many }, (_, index) => ({
    role: 'media:role.reader',
    action: 'read',
    resource: `media:film${String(index).padStart(6, '0')}`,
    effect: 'ALLOW',
  }));
  const policies = [{ name: 'media:policy.films', active: true, assertions }];
  const domain = { name, policies, roles: new Map(), membership: { groupMembers: new Map() } };
  const snapshot = { domains: new Map([[name, domain]]), domain: () => domain };
  const nobody = { looked: () => undefined, compared: () => undefined };
  const deps = { snapshot, ...nobody, isVisible: () => true, sees: () => true } as unknown as SearchDeps;
  const found = await search(deps, { action: 'read' }, '', 2);
  t.deepEqual(
    found.map(({ entry }) => /film\d+/.exec(entry)?.[0]),
    ['film000000', 'film000001'],
  );
});
