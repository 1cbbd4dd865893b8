import { join } from 'node:path';
import {
  parseDomainName,
  parseGroupName,
  parsePolicyName,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import { neededFor } from '@signet/server/management/requests/needed';
import type { AssertionRecord, DomainContent, DomainRecord, MemberRecord } from '@signet/server/model/records';
import { diffDomains } from '@signet/server/store/diff-domains';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { type DomainSketch, domainContent } from '#support/domains';
import { neededOracle } from '#support/needed-oracle';
import { randomFrom } from '#support/random';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';

/* Approvals that changes need: cases of each way to change who may do something, and random changes against the sentences of the contract. */

const rounds = Number(process.env['SIGNET_NEEDED_ROUNDS'] ?? 400);

type Pick = (below: number) => number;
const names = ['a', 'b', 'c'] as const;
const roles = ['admin', 'r1', 'r2', 'r3'];
const groups = ['g1', 'g2'];
const services = ['s1', 's2'];
const oneOf = <One>(any: Pick, list: readonly One[]): One => list[any(list.length)] as One;
const someOf = <One>(any: Pick, list: readonly One[], share: number): One[] => list.filter(() => any(100) < share);

/** Member names: services, people, wildcards and groups, more of the own domain. */
function member(any: Pick, domain: string): MemberRecord {
  const other = oneOf(any, [domain, ...names]);
  const name = oneOf(any, [
    ...services.map((service) => `${other}.${service}`),
    ...groups.map((group) => `${other}:group.${group}`),
    ...[`user.u${any(3)}`, 'media.player', `${other}.*`, `${other}.s*`, any(4) === 0 ? '*' : 'user.x'],
  ]);
  return { name, disabled: any(10) === 0, ...(any(10) === 0 && { expires: 1000 }) };
}

function members(any: Pick, domain: string, isGroup: boolean): MemberRecord[] {
  const found = new Map<string, MemberRecord>();
  for (let count = any(3); count > 0; count -= 1) {
    const one = member(any, domain);
    if (!isGroup || !/[:*]/.test(one.name)) found.set(one.name, one);
  }
  return [...found.values()];
}

function assertion(any: Pick, domain: string): AssertionRecord {
  const role = oneOf(any, [...roles.map((name) => `${domain}:role.${name}`), `${domain}:role.*`, `${domain}:role.r?`]);
  const target = oneOf(any, [domain, ...names]);
  const [action, resources] = oneOf(any, [
    ['assume_role', [`${target}:role.${oneOf(any, roles)}`, `${target}:role.*`, `${target}:role.r?`]],
    ['ASSUME_*', [`${domain}:role.${oneOf(any, roles)}`]],
    ['apply_reviewed', [`${domain}:domain`, `${domain}:domain`, `${domain}:*`]],
    ['Break_Glass', [`${domain}:domain`, `${domain}:Domain`, `${domain}:role.r1`]],
    ['break_*', [`${domain}:domain`]],
    ['launch', [`${domain}:service.${oneOf(any, services)}`, `${domain}:service.*`, `${domain}:s*`, `${domain}:film`]],
    ['update', [`${domain}:service`, `${domain}:service.s?`]],
    ['*', [`${domain}:*`, `${domain}:service.s1`, `${domain}:domain`]],
    ['read', [`${domain}:film`]],
  ] as const);
  const conditions: AssertionRecord['conditions'] = {
    conditionsList: [{ conditionsMap: { instances: { operator: 'EQUALS', value: 'h' } } }],
  };
  return {
    effect: any(5) === 0 ? 'DENY' : 'ALLOW',
    role,
    action,
    resource: oneOf(any, resources),
    caseSensitive: any(6) === 0,
    ...(any(12) === 0 && { conditions }),
  };
}

const approvals = (any: Pick) => (any(3) === 0 ? { approvals: 1 + any(3) } : {});

const role = (any: Pick, domain: string, name: string) => ({
  name: parseRoleName(name),
  ...approvals(any),
  ...(any(8) === 0
    ? { trust: parseDomainName(oneOf(any, names)), members: [] }
    : { members: members(any, domain, false) }),
});

const policy = (any: Pick, domain: string, index: number) => ({
  name: parsePolicyName(`p${index}`),
  version: '0',
  active: any(6) > 0,
  caseSensitive: false,
  assertions: Array.from({ length: any(4) }, () => assertion(any, domain)),
});

const service = (any: Pick, name: string) => ({
  name: parseServiceName(name),
  enabled: any(4) > 0,
  hosts: [],
  publicKeys: [],
  ...(any(2) === 0 && { description: `text ${any(3)}` }),
});

function randomDomain(any: Pick, domain: string): DomainContent {
  return {
    ...domainContent(domain),
    ...approvals(any),
    roles: someOf(any, roles, 75).map((name) => role(any, domain, name)),
    groups: someOf(any, groups, 75).map((name) => ({
      name: parseGroupName(name),
      members: members(any, domain, true),
    })),
    policies: [0, 1].map((index) => policy(any, domain, index)),
    services: someOf(any, services, 75).map((name) => service(any, name)),
  };
}

/** The domain with one or two things changed. */
function changed(any: Pick, before: DomainRecord): DomainContent {
  const { name } = before;
  const other = randomDomain(any, name);
  const replace = <One extends { readonly name: string }>(
    list: readonly One[],
    fresh: readonly One[],
  ): readonly One[] => {
    const key = oneOf(any, [...list, ...fresh])?.name;
    const found = fresh.find((one) => one.name === key);
    return [...list.filter((one) => one.name !== key), ...(found === undefined ? [] : [found])];
  };
  let after: DomainContent = before;
  for (let count = 1 + any(2); count > 0; count -= 1) {
    const part = oneOf(any, [
      'fields',
      'roles',
      'roles',
      'groups',
      'policies',
      'policies',
      'services',
      'nothing',
    ] as const);
    const { approvals: _, ...others } = after;
    if (part === 'fields')
      after = any(2) === 0 ? { ...others, ...approvals(any) } : { ...after, requireReason: !after.requireReason };
    else if (part === 'roles') after = { ...after, roles: replace(after.roles, other.roles) };
    else if (part === 'groups') after = { ...after, groups: replace(after.groups, other.groups) };
    else if (part === 'services') after = { ...after, services: replace(after.services, other.services) };
    else if (part === 'policies') after = { ...after, policies: replace(after.policies, other.policies) };
  }
  return after;
}

test(`${rounds} random changes need what the contract says`, async (t) => {
  t.timeout(1_800_000);
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'));
  t.teardown(() => store.close());
  const counts = new Map<number, number>();
  const seed = Number(process.env['SIGNET_NEEDED_SEED'] ?? 7);
  const any = randomFrom(seed);
  for (let round = 0; round < rounds; round += 1) {
    const name = parseDomainName(oneOf(any, names));
    const { records, change, found } = await store.view(async (reader) => {
      const read = new Map<string, DomainRecord>();
      for (const one of names) {
        const record = await reader.domain(parseDomainName(one));
        if (record !== undefined) read.set(one, record);
      }
      const before = read.get(name);
      const wanted = before === undefined || any(15) === 0 ? randomDomain(any, name) : changed(any, before);
      const made = diffDomains(before, wanted);
      return { records: read, change: { wanted, made }, found: await neededFor(made, reader) };
    });
    const expected = neededOracle(records, name, change.wanted);
    if (found.approvals !== expected) {
      t.log(JSON.stringify({ seed, round, found, expected, made: change.made, records: [...records.values()] }));
    }
    t.is(found.approvals, expected, `round ${round}`);
    counts.set(expected, (counts.get(expected) ?? 0) + 1);
    if (any(3) > 0) await store.change({ actor: 'test' }, (transaction) => saveDomain(transaction, change.wanted));
  }
  t.log(JSON.stringify([...counts].sort()));
  for (const number of [0, 1, 2, 3])
    t.true((counts.get(number) ?? 0) >= rounds / 40, `${number}: ${counts.get(number)}`);
});

interface Case {
  readonly note: string;
  readonly before?: DomainSketch;
  readonly after: DomainSketch;
  /** Other domains. */
  readonly stored?: Readonly<Record<string, DomainSketch>>;
  readonly needed: number;
  readonly by?: RegExp;
}

const admin = ['user.ann', 'user.bob', 'user.cid'];
const plain: DomainSketch = {
  roles: { admin, publisher: ['user.dan'], editors: [] },
  groups: { crew: ['user.eve'] },
  services: ['deploy'],
};
const sealed: DomainSketch = { ...plain, approvals: 2 };
const guarded: DomainSketch = { ...plain, protects: { publisher: 1 } };
const withRoles = (sketch: DomainSketch, more: DomainSketch['roles']): DomainSketch => ({
  ...sketch,
  roles: { ...sketch.roles, ...more },
});
/** `films` may be changed without approval by `media.robot`. */
const films = (members: readonly string[], more: DomainSketch = {}): DomainSketch => ({
  roles: { admin, pipeline: members },
  rules: ['allow apply_reviewed domain pipeline'],
  approvals: 2,
  ...more,
});
const robot: DomainSketch = { roles: { admin, launchers: [] }, services: ['robot', 'other'] };
const robotChanged: DomainSketch = { ...robot, services: [{ name: 'robot', enabled: false }, 'other'] };
const group: DomainSketch = { ...robot, groups: { robots: ['media.robot'] } };
const launching = (resource: string): DomainSketch => ({ ...robot, rules: [`allow launch ${resource} launchers`] });

const cases: readonly Case[] = [
  { note: 'no approvals anywhere', before: plain, after: { ...plain, enabled: false }, needed: 0 },
  { note: 'nothing changes', before: sealed, after: sealed, needed: 0 },
  {
    note: 'any change of a protected domain',
    before: sealed,
    after: { ...sealed, services: [] },
    needed: 2,
    by: /^domain `films`$/,
  },
  { note: 'lowering the approvals of a domain', before: sealed, after: plain, needed: 2 },
  { note: 'raising them from 2', before: sealed, after: { ...sealed, approvals: 3 }, needed: 2 },
  { note: 'raising them from 0', before: plain, after: sealed, needed: 0 },
  { note: 'a new domain', after: sealed, needed: 0 },
  { note: 'raising the approvals of a role from 0', before: plain, after: guarded, needed: 0 },
  { note: 'lowering those of a role', before: guarded, after: plain, needed: 1, by: /^role `films:role.publisher`$/ },
  {
    note: 'a member of a protected role',
    before: guarded,
    after: withRoles(guarded, { publisher: ['user.eve'] }),
    needed: 1,
  },
  { note: 'a protected role goes', before: guarded, after: { ...guarded, roles: { admin, editors: [] } }, needed: 1 },
  { note: 'another role', before: guarded, after: withRoles(guarded, { editors: ['user.eve'] }), needed: 0 },
  {
    note: 'a group in a protected role',
    before: withRoles(guarded, { publisher: ['films:group.crew'] }),
    after: { ...withRoles(guarded, { publisher: ['films:group.crew'] }), groups: { crew: [] } },
    needed: 1,
  },
  { note: 'a group in no protected role', before: guarded, after: { ...guarded, groups: { crew: [] } }, needed: 0 },
  {
    note: 'an assertion by which a protected role is assumed',
    before: guarded,
    after: { ...guarded, rules: ['allow assume_role role.publisher editors'] },
    needed: 1,
  },
  {
    note: 'the same by a wildcard',
    before: guarded,
    after: { ...guarded, rules: ['deny assume_* role.p* editors'] },
    needed: 1,
  },
  {
    note: 'an assertion about another role',
    before: guarded,
    after: { ...guarded, rules: ['allow assume_role role.editors publisher'] },
    needed: 0,
  },
  {
    note: 'a member of a role that may assume a protected one',
    before: { ...guarded, rules: ['allow assume_role role.publisher editors'] },
    after: { ...withRoles(guarded, { editors: ['user.eve'] }), rules: ['allow assume_role role.publisher editors'] },
    needed: 1,
  },
  {
    note: 'who passes a protected role by',
    before: guarded,
    after: { ...guarded, rules: ['allow break_glass domain editors'] },
    needed: 1,
    by: /publisher`, which `apply_reviewed` or `break_glass` changes without approval,$/,
  },
  {
    note: 'the same with a wildcard, which gives nothing',
    before: guarded,
    after: { ...guarded, rules: ['allow break_* domain editors'] },
    needed: 0,
  },
  {
    note: 'a member of a role that passes it by',
    before: { ...guarded, rules: ['allow apply_reviewed domain editors'] },
    after: { ...withRoles(guarded, { editors: ['user.eve'] }), rules: ['allow apply_reviewed domain editors'] },
    needed: 1,
  },
  {
    note: 'a new role that passes it by, by a wildcard',
    before: { ...guarded, rules: ['allow apply_reviewed domain new*'] },
    after: { ...withRoles(guarded, { newcomers: ['user.eve'] }), rules: ['allow apply_reviewed domain new*'] },
    needed: 1,
  },
];

const opened: readonly Case[] = [
  {
    note: 'listed by name',
    before: robot,
    after: robotChanged,
    stored: { films: films(['media.robot']) },
    needed: 2,
    by: /^a domain that a service of `media` may change without approval$/,
  },
  {
    note: 'listed by a wildcard',
    before: robot,
    after: robotChanged,
    stored: { films: films(['media.r*']) },
    needed: 2,
  },
  {
    note: 'listed in a group of its domain',
    before: group,
    after: { ...group, ...{ services: [{ name: 'robot', enabled: false }, 'other'] } },
    stored: { films: films(['media:group.robots']) },
    needed: 2,
  },
  {
    note: 'not listed',
    before: robot,
    after: { ...robot, services: ['robot'] },
    stored: { films: films(['media.robot']) },
    needed: 0,
  },
  {
    note: 'in a domain without approvals',
    before: robot,
    after: robotChanged,
    stored: { films: { ...films(['media.robot']), approvals: 0 } },
    needed: 0,
  },
  {
    note: 'in a domain with a protected role',
    before: robot,
    after: robotChanged,
    stored: { films: { ...films(['media.robot'], { protects: { admin: 1 } }), approvals: 0 } },
    needed: 1,
  },
  {
    note: 'in a role that passes nothing by',
    before: robot,
    after: robotChanged,
    stored: { films: { ...films(['media.robot']), rules: ['allow read film pipeline'] } },
    needed: 0,
  },
  { note: 'a new domain with the service', after: robot, stored: { films: films(['media.robot']) }, needed: 2 },
  {
    note: 'a new service that was listed before',
    before: { ...robot, services: ['other'] },
    after: robot,
    stored: { films: films(['media.robot']) },
    needed: 2,
  },
  {
    note: 'by a role that it assumes',
    before: robot,
    after: robotChanged,
    stored: {
      films: films([], {
        roles: { admin, pipeline: [], helpers: ['media.robot'] },
        rules: ['allow apply_reviewed domain pipeline', 'allow assume_role role.pipeline helpers'],
      }),
    },
    needed: 2,
  },
  {
    note: 'by a role that trusts another domain',
    before: robot,
    after: robotChanged,
    stored: {
      films: films([], { roles: { admin, pipeline: { trust: 'lender' } } }),
      lender: { roles: { lent: ['media.robot'] }, rules: ['allow assume_role films:role.pipeline lent'] },
    },
    needed: 2,
  },
  {
    note: 'an assertion that launches it',
    before: robot,
    after: launching('service.robot'),
    stored: { films: films(['media.robot']) },
    needed: 2,
  },
  {
    note: 'an assertion that launches all',
    before: robot,
    after: launching('service.*'),
    stored: { films: films(['media.robot']) },
    needed: 2,
  },
  {
    note: 'an assertion that launches another',
    before: robot,
    after: launching('service.other'),
    stored: { films: films(['media.robot']) },
    needed: 0,
  },
  {
    note: 'an assertion about another resource',
    before: robot,
    after: launching('rocket'),
    stored: { films: films(['media.*']) },
    needed: 0,
  },
];

for (const [kind, own, all] of [
  ['needed', 'films', cases],
  ['a service that changes a protected domain without approval', 'media', opened],
] as const) {
  for (const { note, before, after, stored = {}, needed, by } of all) {
    test(`${kind}: ${note}`, async (t) => {
      const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'));
      t.teardown(() => store.close());
      const known = new Map(
        Object.entries({ ...stored, ...(before !== undefined && { [own]: before }) }).map(([name, sketch]) => [
          name,
          domainContent(name, sketch),
        ]),
      );
      await store.change({ actor: 'test' }, async (transaction) => {
        for (const content of known.values()) await saveDomain(transaction, content);
      });
      const wanted = domainContent(own, after);
      const found = await store.view(async (reader) =>
        neededFor(diffDomains(await reader.domain(wanted.name), wanted), reader),
      );
      t.is(found.approvals, needed);
      if (by !== undefined) t.regex(found.by, by);
      t.is(neededOracle(known, own, wanted), needed, 'the oracle');
    });
  }
}
