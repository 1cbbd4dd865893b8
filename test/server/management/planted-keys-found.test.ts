import { parseDomainName, parseKeyId, parseServiceName } from '@signet/policy-engine/names';
import { ConflictError } from '@signet/server/errors';
import { plantedKeys, withDelegatedKeys } from '@signet/server/management/planted-keys';
import type { StoreReader } from '@signet/server/model/store';
import test from 'ava';
import { changeOf, factsOf } from '#support/change-facts';
import { type DomainSketch, domainContent } from '#support/domain-sketch';

/* To whom a change gives authority while a delegate has a key of him, against a store that is a list. */

/** Services with the key of a delegate: `media.api 0`. */
type Planted = readonly string[];

interface Case {
  readonly note: string;
  /** Domain before; absent if it is new. */
  readonly before?: DomainSketch;
  readonly after: DomainSketch;
  /** Other domains, and in place of `before` what the store has of the domain itself. */
  readonly stored?: readonly DomainSketch[];
  readonly planted?: Planted;
  /** True if the keys after the change carry the mark of a delegate. */
  readonly marked?: boolean;
  readonly sees?: readonly string[];
  readonly faults: readonly (readonly [path: string, message: string])[];
}

/** Answers of a store in which delegates have registered these keys. */
function answersOf(planted: Planted): Pick<StoreReader, 'delegatedKeys'> {
  const keys = planted.map((text) => {
    const [, domain = '', service = '', keyId = ''] = /^(.+)\.(\S+) (\S+)$/.exec(text) ?? [];
    return { domain: parseDomainName(domain), service: parseServiceName(service), keyId: parseKeyId(keyId) };
  });
  return {
    delegatedKeys: async ({ names, prefixes }) =>
      keys.filter(({ domain, service }) => {
        const full = `${domain}.${service}`;
        return names.includes(full) || prefixes.some((prefix) => full.startsWith(prefix));
      }),
  };
}

const power = ['ALLOW', 'keepers', 'manage_members', 'role.reader'] as const;
const plain = ['ALLOW', 'reader', 'read', 'film'] as const;
const base: DomainSketch = {
  name: 'media',
  roles: { admin: ['user.boss'], keepers: [], reader: [] },
  groups: { crew: [] },
  services: { api: {}, web: {} },
  policies: { rules: [power, plain] },
};
const withRole = (role: string, ...members: readonly string[]): DomainSketch => ({
  ...base,
  roles: { ...base.roles, [role]: members },
});
const inKeepers = withRole('keepers', 'media.api');
const refusal = (service: string, domain = 'media') =>
  `service \`${service}\` cannot gain authority while it has the public key \`0\` of a delegate: an administrator of \`${domain}\` must register that key again, or delete it`;
const hidden = (group: string) =>
  `group \`${group}\` cannot gain authority while a service in it has the public key of a delegate: an administrator of its domain must register that key again, or delete it`;

const far: DomainSketch = { name: 'far', groups: { team: ['far.job'], other: [] }, services: { job: {} } };
const withGroup = (...members: readonly string[]): DomainSketch => ({ ...base, groups: { crew: members } });

const cases: readonly Case[] = [
  { note: 'a member without such a key', before: base, after: inKeepers, planted: ['media.web 0'], faults: [] },
  {
    note: 'a member with one, in a role with authority',
    before: base,
    after: inKeepers,
    planted: ['media.api 0'],
    faults: [['roles/keepers/members/media.api', refusal('media.api')]],
  },
  {
    note: 'in a role without',
    before: base,
    after: withRole('reader', 'media.api'),
    planted: ['media.api 0'],
    faults: [],
  },
  { note: 'a member who was there before', before: inKeepers, after: inKeepers, planted: ['media.api 0'], faults: [] },
  {
    note: 'a role of a new domain',
    after: withRole('admin', 'far.job'),
    planted: ['far.job 0'],
    faults: [['roles/admin/members/far.job', refusal('far.job', 'far')]],
  },
  {
    note: 'a service of another domain',
    before: base,
    after: withRole('keepers', 'far.job'),
    planted: ['far.job 0'],
    faults: [['roles/keepers/members/far.job', refusal('far.job', 'far')]],
  },
  {
    note: 'a prefix that covers it',
    before: base,
    after: withRole('keepers', 'media.a*'),
    planted: ['media.web 0', 'media.api 0'],
    faults: [['roles/keepers/members/media.a*', refusal('media.api')]],
  },
  {
    note: 'the other member of a change',
    before: base,
    after: withRole('keepers', 'media.web', 'media.api'),
    planted: ['media.api 0'],
    faults: [['roles/keepers/members/media.api', refusal('media.api')]],
  },
  {
    note: 'a member whose name begins like that of one who joins another role',
    before: base,
    after: { ...base, roles: { ...base.roles, keepers: ['media.we'], reader: ['media.web'] } },
    planted: ['media.web 0'],
    faults: [],
  },
  // Keys that the change itself registers again.
  {
    note: 'a key that the change makes its own',
    before: base,
    after: { ...inKeepers, services: { api: { 0: 'a' } } },
    planted: ['media.api 0'],
    faults: [],
  },
  {
    note: 'a key that the change leaves to the delegate',
    before: base,
    after: { ...inKeepers, services: { api: { 0: 'a' } } },
    planted: ['media.api 0'],
    marked: true,
    faults: [['roles/keepers/members/media.api', refusal('media.api')]],
  },
  {
    note: 'a change that deletes the key',
    before: base,
    after: { ...inKeepers, services: { api: { 1: 'a' } } },
    planted: ['media.api 0'],
    faults: [],
  },
  {
    note: 'the key of another service of that id',
    before: base,
    after: { ...inKeepers, services: { web: { 0: 'a' }, api: {} } },
    planted: ['media.api 0'],
    faults: [['roles/keepers/members/media.api', refusal('media.api')]],
  },
  {
    note: 'the key of a service of that name in another domain',
    before: base,
    after: { ...withRole('keepers', 'far.api'), services: { api: { 0: 'a' } } },
    planted: ['far.api 0'],
    faults: [['roles/keepers/members/far.api', refusal('far.api', 'far')]],
  },
  // Roles that gain authority.
  {
    note: 'a role with the member gains authority',
    before: { ...inKeepers, policies: { rules: [plain] } },
    after: inKeepers,
    planted: ['media.api 0'],
    faults: [['roles/keepers/members/media.api', refusal('media.api')]],
  },
  {
    note: 'another role gains authority',
    before: { ...withRole('reader', 'media.api'), policies: { rules: [plain] } },
    after: withRole('reader', 'media.api'),
    planted: ['media.api 0'],
    faults: [],
  },
  {
    note: 'a role had authority before',
    before: inKeepers,
    after: { ...inKeepers, policies: { rules: [power, power] } },
    planted: ['media.api 0'],
    faults: [],
  },
  {
    note: 'a role gains authority, and the member joins: told once',
    before: { ...base, policies: { rules: [plain] } },
    after: inKeepers,
    stored: [inKeepers],
    planted: ['media.api 0'],
    faults: [['roles/keepers/members/media.api', refusal('media.api')]],
  },
  // Groups.
  {
    note: 'into a group that a role with authority has',
    before: withGroup(),
    after: { ...withGroup('media.api'), roles: { ...base.roles, keepers: ['media:group.crew'] } },
    stored: [{ ...base, roles: { keepers: ['media:group.crew'] } }],
    planted: ['media.api 0'],
    faults: [
      ['roles/keepers/members/media:group.crew', refusal('media.api')],
      ['groups/crew/members/media.api', refusal('media.api')],
    ],
  },
  {
    note: 'into a group that only a role without authority has',
    before: { ...withGroup(), roles: { ...base.roles, reader: ['media:group.crew'] } },
    after: { ...withGroup('media.api'), roles: { ...base.roles, reader: ['media:group.crew'] } },
    planted: ['media.api 0'],
    faults: [],
  },
  {
    note: 'into a group that a role with authority of another domain has',
    before: withGroup(),
    after: withGroup('media.api'),
    stored: [base, { name: 'far', roles: { admin: ['media:group.crew'] } }],
    planted: ['media.api 0'],
    faults: [['groups/crew/members/media.api', refusal('media.api')]],
  },
  {
    note: 'into a group that a role without authority of another domain has',
    before: withGroup(),
    after: withGroup('media.api'),
    stored: [base, { name: 'far', roles: { reader: ['media:group.crew'], admin: ['media:group.other'] } }],
    planted: ['media.api 0'],
    faults: [],
  },
  {
    note: 'into a group of a role that the store has of the own domain, by rules that the change makes',
    before: { ...withGroup(), policies: { rules: [plain] } },
    after: { ...withGroup('media.api'), roles: { admin: [] } },
    stored: [{ ...withGroup(), roles: { keepers: ['media:group.crew'] }, policies: { rules: [plain] } }],
    planted: ['media.api 0'],
    faults: [['groups/crew/members/media.api', refusal('media.api')]],
  },
  {
    note: 'a group with such a service joins a role with authority',
    before: base,
    after: withRole('keepers', 'far:group.team'),
    stored: [far],
    planted: ['far.job 0'],
    sees: ['far:group.team'],
    faults: [['roles/keepers/members/far:group.team', refusal('far.job', 'far')]],
  },
  {
    note: 'the same where the author may not look at the group',
    before: base,
    after: withRole('keepers', 'far:group.team'),
    stored: [far],
    planted: ['far.job 0'],
    sees: ['far:group.other'],
    faults: [['roles/keepers/members/far:group.team', hidden('far:group.team')]],
  },
  {
    note: 'a group of the own domain, of which the author is told whatever he sees',
    before: withGroup('media.api'),
    after: { ...withGroup('media.api'), roles: { ...base.roles, keepers: ['media:group.crew'] } },
    planted: ['media.api 0'],
    sees: [],
    faults: [['roles/keepers/members/media:group.crew', refusal('media.api')]],
  },
  {
    note: 'a service, of which the author is told whatever he sees',
    before: base,
    after: withRole('keepers', 'far.job'),
    planted: ['far.job 0'],
    sees: [],
    faults: [['roles/keepers/members/far.job', refusal('far.job', 'far')]],
  },
  {
    note: 'another group of that domain has such a service',
    before: base,
    after: withRole('keepers', 'far:group.other'),
    stored: [far],
    planted: ['far.job 0'],
    faults: [],
  },
  {
    note: 'a group of the own domain whose members the store has',
    before: { ...base, groups: {} },
    after: { ...withRole('keepers', 'media:group.crew'), groups: {} },
    stored: [withGroup('media.api')],
    planted: ['media.api 0'],
    faults: [['roles/keepers/members/media:group.crew', refusal('media.api')]],
  },
  {
    note: 'a group of another domain that is not there',
    before: base,
    after: withRole('keepers', 'gone:group.team'),
    planted: ['far.job 0'],
    faults: [],
  },
  {
    note: 'a change that did not read the policies',
    before: { ...base, policies: {} },
    after: { ...inKeepers, policies: {} },
    stored: [base],
    planted: ['media.api 0'],
    faults: [['roles/keepers/members/media.api', refusal('media.api')]],
  },
  {
    note: 'a change that takes the policies away',
    before: base,
    after: { ...inKeepers, policies: { rules: [plain] } },
    stored: [base],
    planted: ['media.api 0'],
    faults: [],
  },
];

function worldOf({ before, after, stored = [], planted = [], marked, sees }: Case) {
  const own = before === undefined || stored.some(({ name }) => name === before.name) ? [] : [before];
  const plain = changeOf(before && domainContent(before), domainContent(after));
  const change = marked === true ? withDelegatedKeys(plain) : plain;
  const mayLook = (domain: string, object: string) => sees === undefined || sees.includes(`${domain}:${object}`);
  const domains = [...stored, ...own].map(domainContent);
  return { change, facts: factsOf(change, domains, { sees: mayLook, answers: answersOf(planted) }) };
}

for (const each of cases) {
  test(`planted keys: ${each.note}`, async (t) => {
    const { change, facts } = worldOf(each);
    const found = await plantedKeys(change, facts);
    t.deepEqual(
      found.map(({ path, error }) => [path.join('/'), error.message]),
      each.faults.map((fault) => [...fault]),
    );
    t.true(found.every(({ error }) => error instanceof ConflictError));
  });
}

test.serial('many members are not compared with many keys', async (t) => {
  const many = Array.from({ length: 300 }, (_, index) => `s${index}`);
  const keys = many.map((name) => {
    return { domain: parseDomainName('far'), service: parseServiceName(name), keyId: parseKeyId('0') };
  });
  const change = changeOf(
    domainContent(base),
    domainContent(withRole('reader', ...many.map((name) => `far.${name}*`).toSorted())),
  );
  const facts = factsOf(change, [domainContent(base)], { answers: { delegatedKeys: async () => keys } });
  const { startsWith } = String.prototype;
  let compared = 0;
  Reflect.set(String.prototype, 'startsWith', function (this: string, ...rest: Parameters<string['startsWith']>) {
    compared += 1;
    return startsWith.apply(this, rest);
  });
  try {
    t.deepEqual(await plantedKeys(change, facts), []);
  } finally {
    Reflect.set(String.prototype, 'startsWith', startsWith);
  }
  t.true(compared < 20 * many.length, `${compared}`);
});
