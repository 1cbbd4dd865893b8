import { type DomainName, parseDomainName } from '@signet/policy-engine/names';
import {
  danglingWarnings,
  domainsReferringTo,
  referenceWarnings,
  removeReferencesTo,
} from '@signet/server/management/dangling';
import { StoreAfter } from '@signet/server/management/store-after';
import type { DomainChange } from '@signet/server/model/domain-change';
import type { DomainContent } from '@signet/server/model/records';
import type { MemberSearch } from '@signet/server/model/store';
import test from 'ava';
import { changeOf } from '#support/change-facts';
import { type DomainSketch, domainContent } from '#support/domain-sketch';
import { memoryReader } from '#support/memory-reader';

/* Remains of deleted groups and domains in the roles of others. */

const media = parseDomainName('media');
const user: DomainSketch = {
  name: 'far',
  roles: {
    reader: ['media:group.team', 'media:group.crew', 'mediator:group.team', 'media.api', 'near:group.team'],
    lent: { trust: 'media' },
    kept: { trust: 'near' },
  },
};
const worldOf = (...sketches: readonly DomainSketch[]) => sketches.map(domainContent);
const all = worldOf(user, { name: 'media', roles: { reader: ['media:group.team'] } }, { name: 'other' });

function readerOf(domains: readonly DomainContent[]) {
  const having = (fits: (domain: DomainContent) => boolean) => domains.filter(fits).map(({ name }) => name);
  return {
    domainsWithMember: async ({ names, prefixes }: MemberSearch) =>
      having(({ roles }) =>
        roles.some(({ members }) =>
          members.some(({ name }) => names.includes(name) || prefixes.some((prefix) => name.startsWith(prefix))),
        ),
      ),
    domainsTrusting: async (names: readonly DomainName[]) =>
      having(({ roles }) => roles.some(({ trust }) => trust !== undefined && names.includes(trust))),
    domain: async (name: DomainName) => domains.find((domain) => domain.name === name),
  };
}

const afterOf = (domains: readonly DomainContent[]) => new StoreAfter(memoryReader(domains), []);
const groups = { team: [], crew: [] };
const seesAll = () => true;

test('the author is told of roles with a group that goes, where he may look at their domain', async (t) => {
  const before = domainContent({ name: 'media', groups });
  const after = domainContent({ name: 'media', groups: { crew: [] } });
  const told = (sees: (domain: DomainName) => boolean, left = after) =>
    danglingWarnings(changeOf(before, left), afterOf(all), sees);
  const text = 'a role with the group `media:group.team`, which grants nothing any more';
  t.deepEqual(await told(seesAll), [`domain \`far\` has ${text}`]);
  t.deepEqual(await told(() => false), [`a domain that you may not look at has ${text}`]);
  t.deepEqual(await told(seesAll, before), []);
  t.deepEqual(await danglingWarnings(changeOf(undefined, after), afterOf(all), seesAll), []);
});

test('of several domains those that may be named are, and the others are one', (t) => {
  const [far, near, other] = [parseDomainName('far'), parseDomainName('near'), parseDomainName('other')];
  const rest = 'roles with groups of `media` or that trust it: these references end';
  const told = (sees: (name: DomainName) => boolean) => referenceWarnings([far, near, other], media, sees);
  t.deepEqual(
    told((name) => name === near),
    [`domain \`near\` has ${rest}`, `a domain that you may not look at has ${rest}`],
  );
  t.is(told(seesAll).length, 3);
  t.deepEqual(
    referenceWarnings([], media, () => false),
    [],
  );
});

test('domains that refer to another by its groups or by trust, each once, and not itself', async (t) => {
  const found = (...sketches: readonly DomainSketch[]) =>
    domainsReferringTo(readerOf(worldOf(...sketches)) as never, media);
  t.deepEqual(await found(user, { name: 'media', roles: { reader: ['media:group.team'] } }), [parseDomainName('far')]);
  t.deepEqual(
    (
      await found({ name: 'z', roles: { lent: { trust: 'media' } } }, { name: 'b', roles: { r: ['media:group.x'] } })
    ).join(),
    'b,z',
  );
});

test('groups and trust of a deleted domain are taken out of the roles of others, and nothing else', async (t) => {
  const saved: DomainChange[] = [];
  const reader = readerOf(all);
  const transaction = {
    ...reader,
    domainsTrusting: async () => [parseDomainName('gone')],
    save: async (change: DomainChange) => void saved.push(change),
  };
  const warnings = await removeReferencesTo(transaction as never, media, (name) => name === 'far');
  t.is(warnings.length, 2);
  t.deepEqual(
    saved.map(({ name, roles }) => [
      name as string,
      ...roles.map(({ after, members }) => [after?.name, after?.trust, ...members.removed.map((one) => one.name)]),
    ]),
    [['far', ['reader', undefined, 'media:group.team', 'media:group.crew'], ['lent', undefined]]],
  );
});
