import { parseDomainName } from '@signet/policy-engine/names';
import { ConflictError } from '@signet/server/errors';
import type { ChangeFacts, ChangeFault, Sees } from '@signet/server/management/change-rule';
import {
  checkUnused,
  dnsForms,
  lostNames,
  membershipsOfServices,
  removalWarnings,
  removeMemberships,
  reservationOf,
  reservedNames,
  serverService,
} from '@signet/server/management/name-safeguards';
import type { DomainChange } from '@signet/server/model/domain-change';
import type { DomainContent } from '@signet/server/model/records';
import type { FormHolder, StoreReader } from '@signet/server/model/store';
import test from 'ava';
import { changeOf, factsOf } from '#support/change-facts';
import { type DomainSketch, domainContent } from '#support/domain-sketch';
import { memoryReader } from '#support/memory-reader';
import { costlyDecisions } from '#support/turns';

/* Effect of a change on names, against a store that is a list. */

const dayMs = 86_400_000;
const now = 1_700_000_000_000;

interface World {
  readonly holder?: readonly [domain: string, state: 'exists' | 'deleted'];
  /** Names and how long ago they ended. */
  readonly ended?: Readonly<Record<string, number>>;
  /** `far:role.reader media.api`. */
  readonly members?: readonly string[];
}

/** The domains that have these members and nothing else. */
function listing(members: readonly string[]): DomainContent[] {
  const sketches = new Map<string, { roles: Record<string, string[]>; groups: Record<string, string[]> }>();
  for (const text of members) {
    const [, domain = '', kind, list = '', member = ''] = /^(.+):(role|group)\.(\S+) (\S+)$/.exec(text) ?? [];
    const sketch = sketches.get(domain) ?? { roles: {}, groups: {} };
    sketches.set(domain, sketch);
    const lists = kind === 'group' ? sketch.groups : sketch.roles;
    lists[list] = [...(lists[list] ?? []), member];
  }
  return [...sketches].map(([name, sketch]) => domainContent({ name, ...sketch }));
}

function answersOf({ holder, ended = {} }: World): Partial<StoreReader> {
  const held: FormHolder | undefined = holder && {
    domain: parseDomainName(holder[0]),
    deleted: holder[1] === 'deleted',
  };
  const all = Object.entries(ended).map(([name, ago]) => ({ name, endedAt: now - ago }));
  return {
    formHolder: async () => held,
    endedNames: async (names) => all.filter(({ name }) => names.includes(name)),
  };
}

const media: DomainSketch = { name: 'media', services: { api: {}, web: {} }, groups: { team: [] } };
interface Case {
  readonly note: string;
  readonly world?: World;
  /** Domain before; absent if it is new. */
  readonly before?: DomainSketch;
  readonly after?: DomainSketch;
  readonly options?: Partial<ChangeFacts>;
  /** Domains that are changed at once. */
  readonly others?: readonly DomainSketch[];
  readonly faults: readonly (readonly [path: string, message: string | RegExp])[];
}

const form = (taken: string) =>
  `domain \`pay.core\` would have the DNS name \`pay-core\`, which domain \`${taken}\` has`;
const pay: DomainSketch = { name: 'pay.core' };
const isReserved = (name: string) => new RegExp(`^\`${name}\` was deleted at .*reuseName=true`);
const remove = ': remove it there, or with it by removeMemberships=true (--remove-memberships)';
const isMember = (where: string) => `service \`media.web\` is a member of ${where}${remove}`;
const withoutWeb: DomainSketch = { ...media, services: { api: {} } };
const manyRoles = (count: number) => Array.from({ length: count }, (_, i) => `far:role.r${i} media.web`);
const firstTwenty = manyRoles(20).map((text) => `\`${text.split(' ')[0]}\``);

const cases: readonly Case[] = [
  { note: 'a new domain with nothing in its way', faults: [] },
  // Names in DNS.
  {
    note: 'a form that a domain has',
    after: pay,
    world: { holder: ['pay-core', 'exists'] },
    faults: [['domain', form('pay-core')]],
  },
  { note: 'a form that a deleted domain had', after: pay, world: { holder: ['pay-core', 'deleted'] }, faults: [] },
  {
    note: 'a form that a domain has, of a domain that is there',
    before: pay,
    after: pay,
    world: { holder: ['pay-core', 'exists'] },
    faults: [],
  },
  {
    note: 'two new domains with one form: the later name is refused',
    after: pay,
    others: [{ name: 'pay-core' }, pay],
    faults: [['domain', form('pay-core')]],
  },
  {
    note: 'two new domains with one form: the earlier name is not',
    after: { name: 'pay-core' },
    others: [pay, { name: 'pay-core' }],
    faults: [],
  },
  { note: 'two new domains with two forms', after: pay, others: [{ name: 'media' }], faults: [] },
  {
    note: 'a deleted domain had the form, and one beside has it',
    after: pay,
    world: { holder: ['pay-core', 'deleted'] },
    others: [{ name: 'pay-core' }],
    faults: [['domain', form('pay-core')]],
  },
  // Names that come back.
  {
    note: 'a domain of this name was deleted',
    after: pay,
    world: { ended: { 'pay.core': 1 } },
    faults: [['domain', isReserved('pay.core')]],
  },
  {
    note: 'a domain of this form was deleted',
    after: pay,
    world: { holder: ['pay-core', 'deleted'], ended: { 'pay-core': 1 } },
    faults: [['domain', isReserved('pay-core')]],
  },
  {
    note: 'a domain of this name was deleted, and is there again',
    before: pay,
    after: pay,
    world: { ended: { 'pay.core': 1 } },
    faults: [],
  },
  {
    note: 'an operator uses the name',
    after: pay,
    world: { ended: { 'pay.core': 1 } },
    options: { reuseName: true },
    faults: [],
  },
  {
    note: 'a service of this name was deleted',
    before: withoutWeb,
    after: media,
    world: { ended: { 'media.web': 1, 'media.api': 1 } },
    faults: [['services/web', isReserved('media.web')]],
  },
  {
    note: 'services of a new domain',
    after: media,
    world: { ended: { 'media.web': 1 } },
    faults: [['services/web', isReserved('media.web')]],
  },
  {
    note: 'the last millisecond of thirty days',
    after: pay,
    world: { ended: { 'pay.core': 30 * dayMs - 1 } },
    faults: [['domain', isReserved('pay.core')]],
  },
  { note: 'thirty days are over', after: pay, world: { ended: { 'pay.core': 30 * dayMs } }, faults: [] },
  {
    note: 'a longer reservation',
    after: pay,
    world: { ended: { 'pay.core': 40 * dayMs } },
    options: { reservedMs: 41 * dayMs },
    faults: [['domain', isReserved('pay.core')]],
  },
  // Names that others list.
  {
    note: 'the token server itself',
    before: { name: 'sys.auth', services: { server: {}, other: {} } },
    after: { name: 'sys.auth', services: { other: {} } },
    faults: [['services', 'service `sys.auth.server` is the token server itself and cannot be deleted']],
  },
  {
    note: 'another service of its domain',
    before: { name: 'sys.auth', services: { server: {}, other: {} } },
    after: { name: 'sys.auth', services: { server: {} } },
    faults: [],
  },
  {
    note: 'a service that nobody lists',
    before: media,
    after: withoutWeb,
    world: { members: ['far:role.reader media.api'] },
    faults: [],
  },
  {
    note: 'a service that others list',
    before: media,
    after: withoutWeb,
    world: { members: ['far:role.reader media.web', 'near:group.team media.web', 'far:role.reader media.api'] },
    faults: [['services', isMember('`far:role.reader`, `near:group.team`')]],
  },
  {
    note: 'a service that others list, and its memberships go with it',
    before: media,
    after: withoutWeb,
    world: { members: ['far:role.reader media.web'] },
    options: { removeMemberships: true },
    faults: [],
  },
  {
    note: 'a service that stays',
    before: media,
    after: media,
    world: { members: ['far:role.reader media.web'] },
    faults: [],
  },
  {
    note: 'the same change takes it out of the role',
    before: media,
    after: withoutWeb,
    world: { members: ['far:role.reader media.web'] },
    others: [{ name: 'far', roles: { reader: ['media.api'] } }],
    faults: [],
  },
  {
    note: 'the same change puts it into another role',
    before: media,
    after: withoutWeb,
    world: { members: ['far:role.reader media.web'] },
    others: [{ name: 'far', roles: { reader: ['media.api'], other: ['media.web'] } }],
    faults: [['services', isMember('`far:role.other`')]],
  },
  {
    note: 'the same change takes it out of the group',
    before: media,
    after: withoutWeb,
    world: { members: ['far:group.team media.web'] },
    others: [{ name: 'far', roles: { team: ['media.api'] }, groups: { team: [] } }],
    faults: [],
  },
  {
    note: 'the same change keeps it in the group',
    before: media,
    after: withoutWeb,
    world: { members: ['far:group.team media.web'] },
    others: [{ name: 'far', roles: { team: [] }, groups: { other: [], team: ['media.api', 'media.web'] } }],
    faults: [['services', isMember('`far:group.team`')]],
  },
  {
    note: 'the same change is of another domain',
    before: media,
    after: withoutWeb,
    world: { members: ['far:role.reader media.web'] },
    others: [{ name: 'near' }],
    faults: [['services', isMember('`far:role.reader`')]],
  },
  {
    note: 'twenty memberships',
    before: media,
    after: withoutWeb,
    world: { members: manyRoles(20) },
    faults: [['services', isMember(firstTwenty.join(', '))]],
  },
  {
    note: 'twenty-two memberships',
    before: media,
    after: withoutWeb,
    world: { members: manyRoles(22) },
    faults: [['services', isMember([...firstTwenty, '2 more roles or groups'].join(', '))]],
  },
  {
    note: 'one that the author may not look at',
    before: media,
    after: withoutWeb,
    world: { members: ['far:role.reader media.web', 'near:group.team media.web'] },
    options: { sees: (domain, object) => domain === 'near' && object === 'group.team' },
    faults: [['services', isMember('`near:group.team`, 1 role or group that you may not look at')]],
  },
  {
    note: 'two that the author may not look at',
    before: media,
    after: withoutWeb,
    world: { members: ['far:role.reader media.web', 'near:group.team media.web'] },
    options: { sees: () => false },
    faults: [['services', isMember('2 roles or groups that you may not look at')]],
  },
];

const rules = [dnsForms, reservedNames, serverService, membershipsOfServices];
for (const { note, world = {}, before, after = media, options, others = [], faults } of cases) {
  test(`names of a change: ${note}`, async (t) => {
    const stored = [...listing(world.members ?? []), ...(before === undefined ? [] : [domainContent(before)])];
    const change = changeOf(before && domainContent(before), domainContent(after));
    const beside = others.map((sketch) => {
      const was = stored.find(({ name }) => name === sketch.name);
      return changeOf(was, domainContent(sketch));
    });
    const facts = factsOf(change, stored, { now, answers: answersOf(world), others: beside, ...options });
    const found: ChangeFault[] = [];
    for (const rule of rules) found.push(...(await rule(change, facts)));
    t.deepEqual(
      found.map(({ path }) => path.join('/')),
      faults.map(([path]) => path),
    );
    for (const [index, [, message]] of faults.entries()) {
      const error = found[index]?.error;
      t.true(error instanceof ConflictError);
      if (typeof message === 'string') t.is(error?.message, message);
      else t.regex(error?.message ?? '', message);
    }
  });
}

test('a name stays reserved for the longest life of a credential, and for thirty days at the least', (t) => {
  const short = {
    certificates: { serviceMaxExpirySeconds: 1, roleMaxExpirySeconds: 1 },
    ssh: { hostExpirySeconds: 1, userExpirySeconds: 1 },
    tokens: { maxExpirySeconds: 1 },
  };
  t.is(reservationOf(short), 30 * dayMs);
  const long = 31 * 86_400;
  for (const lives of [
    { ...short, certificates: { ...short.certificates, serviceMaxExpirySeconds: long } },
    { ...short, certificates: { ...short.certificates, roleMaxExpirySeconds: long } },
    { ...short, ssh: { ...short.ssh, hostExpirySeconds: long } },
    { ...short, ssh: { ...short.ssh, userExpirySeconds: long } },
    { ...short, tokens: { maxExpirySeconds: long } },
  ]) {
    t.is(reservationOf(lives), 31 * dayMs);
  }
});

test('the names that a change takes away', (t) => {
  const after = domainContent({ ...withoutWeb, groups: { crew: [] } });
  t.deepEqual(lostNames(changeOf(domainContent(media), after)), ['media.web', 'media:group.team']);
  const more = domainContent({ ...media, services: { api: {}, web: {}, job: {} } });
  t.deepEqual(lostNames(changeOf(more, domainContent(media))), ['media.job']);
  t.deepEqual(lostNames(changeOf(undefined, after)), []);
  t.deepEqual(lostNames(changeOf(after, after)), []);
});

const seesAll: Sees = () => true;

test('the author is told of what goes in other domains, not of the own', async (t) => {
  const reader = memoryReader(
    listing(['media:role.admin media.web', 'far:role.reader media.web', 'near:role.x media.api']),
  );
  const [name, own] = [['media.web', 'media.none'], parseDomainName('media')];
  t.deepEqual(await removalWarnings(reader, own, name, seesAll), [
    { name: 'media.web', text: '`media.web` is taken out of `far:role.reader`' },
  ]);
});

test('a domain is not deleted while roles or groups of others have its services', async (t) => {
  const reader = memoryReader(listing(['media:role.admin media.web', 'far:group.team media.api']));
  const media = parseDomainName('media');
  await t.notThrowsAsync(checkUnused(reader, media, ['media.web'], seesAll));
  await t.throwsAsync(checkUnused(reader, media, ['media.web', 'media.api'], seesAll), {
    instanceOf: ConflictError,
    message:
      'services of `media` are members of `far:group.team`: removeMemberships=true (--remove-memberships) removes them',
  });
});

test('members are taken out of every role and group, each domain once', async (t) => {
  const lists = ['far:role.reader media.web', 'far:role.reader media.api', 'far:role.other media.web'];
  const reader = memoryReader(listing([...lists, 'far:group.team media.web', 'near:group.team media.web']));
  const saved: string[] = [];
  const save = async ({ name, roles, groups }: DomainChange) => {
    for (const [kind, changes] of [
      ['role', roles],
      ['group', groups],
    ] as const) {
      for (const { before, after, members } of changes) {
        t.deepEqual(before, after);
        saved.push(...members.removed.map((member) => `${name}:${kind}.${after?.name} ${member.name}`));
      }
    }
  };
  await removeMemberships({ ...reader, save } as never, ['media.web']);
  t.deepEqual(saved.sort(), [
    'far:group.team media.web',
    'far:role.other media.web',
    'far:role.reader media.web',
    'near:group.team media.web',
  ]);
});

test('others have their turn while it is found which of many memberships may be seen', async (t) => {
  const memberships = manyRoles(10);
  const reader = memoryReader(listing(memberships));
  const { decide, pauses } = costlyDecisions();
  await removalWarnings(reader, parseDomainName('media'), ['media.web'], decide);
  t.is(pauses(), 9);
});
