import { approvalWarnings } from '@signet/server/management/approval-warnings';
import { checkChange, findFaults } from '@signet/server/management/check-change';
import test from 'ava';
import { changeOf, factsOf } from '#support/change-facts';
import { type DomainSketch, domainContent } from '#support/domains';

/* Rules and warnings that keep approvals from being passed by. */

interface Change {
  /** The domain `films` before; absent if it is new. */
  readonly before?: DomainSketch;
  readonly after: DomainSketch;
  /** Other domains, and those of them that change at once. */
  readonly stored?: Readonly<Record<string, DomainSketch>>;
  readonly changed?: Readonly<Record<string, DomainSketch>>;
  readonly sees?: (domain: string, object: string) => boolean;
}

function judged({ before, after, stored = {}, changed = {}, sees = () => true }: Change) {
  const contents = new Map(Object.entries(stored).map(([name, sketch]) => [name, domainContent(name, sketch)]));
  const was = before && domainContent('films', before);
  const change = changeOf(was, domainContent('films', after));
  const others = Object.entries(changed).map(([name, sketch]) =>
    changeOf(contents.get(name), domainContent(name, sketch)),
  );
  const known = [...contents.values(), ...(was === undefined ? [] : [was])];
  return { change, facts: factsOf(change, known, { others, sees, now: 1000 }) };
}

const admin = ['user.ann', 'user.bob', 'user.cid', 'user.dan'];
const group = { groups: { crew: ['user.eve'] }, roles: { admin } };
const stored = (approvals?: number) => ({ media: { ...group, ...(approvals !== undefined && { approvals }) } });

const plain: DomainSketch = { roles: { admin, publisher: [] } };
const guarded: DomainSketch = { ...plain, protects: { publisher: 2 } };
const entered = (sketch: DomainSketch, role = 'publisher'): DomainSketch => ({
  ...sketch,
  roles: { ...sketch.roles, [role]: ['media:group.crew'] },
});
const trusting = (sketch: DomainSketch): DomainSketch => ({
  ...sketch,
  roles: { ...sketch.roles, publisher: { trust: 'media' } },
});
const alone: DomainSketch = {
  roles: { admin, publisher: [], pipeline: [] },
  rules: ['allow apply_reviewed domain pipeline'],
};
const assuming: DomainSketch = {
  roles: { admin, publisher: [], editors: [] },
  rules: ['allow assume_role role.publisher editors'],
};

const members: readonly (readonly [note: string, change: Change, expected: RegExp | undefined])[] = [
  [
    'a foreign group in a role without approvals',
    { before: plain, after: entered(plain), stored: stored() },
    undefined,
  ],
  [
    'a foreign group in a protected role',
    { before: guarded, after: entered(guarded), stored: stored() },
    /^group `media:group.crew` may not enter role `films:role.publisher`, which needs 2 by `approvals`: set `approvals` of domain `media` to 2 first$/,
  ],
  ['of a domain with too few', { before: guarded, after: entered(guarded), stored: stored(1) }, /^group/],
  ['of a domain with enough', { before: guarded, after: entered(guarded), stored: stored(2) }, undefined],
  [
    'of a domain that gets enough at once',
    { before: guarded, after: entered(guarded), stored: stored(), changed: stored(2) },
    undefined,
  ],
  [
    'of a domain that loses them at once',
    { before: guarded, after: entered(guarded), stored: stored(2), changed: stored() },
    /^group/,
  ],
  ['trust in a domain', { before: guarded, after: trusting(guarded), stored: stored(1) }, /^trust in `media` may not/],
  ['trust in a domain with enough', { before: guarded, after: trusting(guarded), stored: stored(3) }, undefined],
  [
    'a protected domain',
    { before: { ...plain, approvals: 1 }, after: entered({ ...plain, approvals: 1 }), stored: stored() },
    /which needs 1 by/,
  ],
  [
    'a group that was there',
    { before: entered(guarded), after: { ...entered(guarded), enabled: false }, stored: stored() },
    undefined,
  ],
  [
    'a role whose members change the domain without approval',
    {
      before: { ...alone, protects: { publisher: 1 } },
      after: entered({ ...alone, protects: { publisher: 1 } }, 'pipeline'),
      stored: stored(),
    },
    /may not enter role `films:role.pipeline`, which needs 1/,
  ],
  [
    'the same without anything protected',
    { before: alone, after: entered(alone, 'pipeline'), stored: stored() },
    undefined,
  ],
  [
    'a role whose members assume a protected one',
    {
      before: { ...assuming, protects: { publisher: 1 } },
      after: entered({ ...assuming, protects: { publisher: 1 } }, 'editors'),
      stored: stored(),
    },
    /may not enter role `films:role.editors`, which needs 1/,
  ],
  [
    'the same where nothing is protected',
    { before: assuming, after: entered(assuming, 'editors'), stored: stored() },
    undefined,
  ],
  [
    'a group of its own',
    {
      before: { ...guarded, groups: { own: [] } },
      after: { ...guarded, groups: { own: [] }, roles: { admin, publisher: ['films:group.own'] } },
    },
    undefined,
  ],
];

for (const [note, change, expected] of members) {
  test(`enters a protected role: ${note}`, async (t) => {
    const { change: made, facts } = judged(change);
    const [fault] = await findFaults(made, facts);
    if (expected === undefined) {
      t.is(fault, undefined, fault?.error.message);
      await t.notThrowsAsync(checkChange(made, facts));
    } else {
      t.regex(fault?.error.message ?? '', expected);
      t.is(fault?.path[0], 'roles');
      await t.throwsAsync(checkChange(made, facts), { message: expected });
    }
  });
}

const admins = (...names: readonly (string | { readonly name: string })[]) => ({
  roles: { admin: names, publisher: [] },
});
const one = { approvals: 1 };
const approvers: readonly (readonly [note: string, change: Change, expected: readonly string[] | undefined])[] = [
  ['two persons for one', { after: { ...admins('user.ann', 'user.bob'), ...one } }, undefined],
  ['one person for one, in a new domain', { after: { ...admins('user.ann'), ...one } }, ['approvals']],
  ['one person, raised', { before: admins('user.ann'), after: { ...admins('user.ann'), ...one } }, ['approvals']],
  [
    'two persons for two of a role',
    {
      before: admins('user.ann', 'user.bob'),
      after: { ...admins('user.ann', 'user.bob'), protects: { publisher: 2 } },
    },
    ['roles', 'publisher', 'approvals'],
  ],
  [
    'three persons for two of a role',
    { before: plain, after: { ...admins('user.ann', 'user.bob', 'user.cid'), protects: { publisher: 2 } } },
    undefined,
  ],
  [
    'the same person twice',
    { after: { ...admins('user.ann', 'films:group.g'), groups: { g: ['user.ann'] }, ...one } },
    ['approvals'],
  ],
  [
    'another one in an own group',
    { after: { ...admins('user.ann', 'films:group.g'), groups: { g: ['user.bob'] }, ...one } },
    undefined,
  ],
  ['a service', { after: { ...admins('user.ann', 'media.boss'), ...one } }, ['approvals']],
  ['a wildcard', { after: { ...admins('user.ann', 'user.*'), ...one } }, ['approvals']],
  [
    'a person that expires',
    { after: { ...admins('user.ann', { name: 'user.bob', expires: 5000 } as never), ...one } },
    ['approvals'],
  ],
  [
    'a disabled one',
    { after: { ...admins('user.ann', { name: 'user.bob', disabled: true } as never), ...one } },
    ['approvals'],
  ],
  [
    'one of two goes',
    { before: { ...admins('user.ann', 'user.bob'), ...one }, after: { ...admins('user.ann'), ...one } },
    ['roles', 'admin', 'members'],
  ],
  [
    'one of two goes, in a group',
    {
      before: { ...admins('user.ann', 'films:group.g'), groups: { g: ['user.bob'] }, ...one },
      after: { ...admins('user.ann', 'films:group.g'), groups: { g: ['media.boss'] }, ...one },
    },
    ['roles', 'admin', 'members'],
  ],
  [
    'one of two goes with the approvals',
    { before: { ...admins('user.ann', 'user.bob'), ...one }, after: admins('user.ann') },
    undefined,
  ],
  [
    'one comes where there were too few before',
    { before: { ...admins('user.ann'), approvals: 2 }, after: { ...admins('user.ann', 'user.bob'), approvals: 2 } },
    undefined,
  ],
  [
    'another role changes',
    {
      before: { ...admins('user.ann'), ...one },
      after: { roles: { admin: ['user.ann'], publisher: ['user.eve'] }, ...one },
    },
    undefined,
  ],
];

for (const [note, change, path] of approvers) {
  test(`enough approvers: ${note}`, async (t) => {
    const { change: made, facts } = judged({ ...change });
    const faults = await findFaults(made, { ...facts, allowWildcard: true });
    t.deepEqual(
      faults.map((fault) => fault.path),
      path === undefined ? [] : [path],
    );
    if (path !== undefined) t.regex(faults[0]?.error.message ?? '', /^role `admin` must keep [23] persons/);
  });
}

async function warned(change: Change): Promise<readonly (readonly [string, string])[]> {
  const { change: made, facts } = judged(change);
  return (await approvalWarnings(made, facts)).map(({ message, path }) => [path.join('.'), message]);
}

test('a change that raises no approvals is not warned of', async (t) => {
  t.deepEqual(await warned({ before: guarded, after: { ...guarded, enabled: false } }), []);
  t.deepEqual(await warned({ before: guarded, after: { ...guarded, protects: { publisher: 1 } } }), []);
  t.deepEqual(await warned({ before: plain, after: { ...plain, approvals: 1 } }), []);
});

test('a role with approvals in a domain without: what it may do is not protected', async (t) => {
  const [[path, message] = []] = await warned({ before: plain, after: guarded });
  t.is(path, 'roles.publisher.approvals');
  t.regex(
    message ?? '',
    /^`approvals` of role `publisher` protect who is in it; what it may do is protected by `approvals` of the domain/,
  );
  t.deepEqual(await warned({ before: { ...plain, approvals: 1 }, after: { ...guarded, approvals: 1 } }), []);
});

const holders: DomainSketch = {
  roles: {
    admin,
    pipeline: ['films.deploy', 'media:group.crew'],
    crisis: Array.from({ length: 12 }, (_, index) => `user.u${10 + index}`),
    idle: [],
    reviewers: ['user.ann'],
  },
  rules: [
    'allow apply_reviewed domain pipeline',
    'allow break_glass domain crisis',
    'allow break_* domain admin',
    'allow approve_changes role.pipeline reviewers',
    'allow approve_changes domain idle',
  ],
};

test('who approves, and who passes approvals by, is listed where they are raised', async (t) => {
  const change = { before: holders, after: { ...holders, approvals: 1 }, stored: stored() };
  const crisis = Array.from({ length: 10 }, (_, index) => `\`user.u${10 + index}\``).join(', ');
  t.deepEqual(await warned(change), [
    ['approvals', 'role `films:role.idle` holds `approve_changes`: nobody'],
    ['approvals', 'role `films:role.reviewers` holds `approve_changes`: `user.ann`'],
    ['approvals', 'role `films:role.pipeline` holds `apply_reviewed`: `films.deploy`, `media:group.crew`'],
    ['approvals', `role \`films:role.crisis\` holds \`break_glass\`: ${crisis} and 2 more`],
    ['approvals', 'role `films:role.pipeline` lists `media:group.crew`, which changes with fewer than 1 approvals'],
  ]);
  const blind = await warned({ ...change, sees: () => false });
  t.deepEqual(
    blind.map(([, message]) => message),
    [
      'role `films:role.idle` holds `approve_changes`',
      'role `films:role.reviewers` holds `approve_changes`',
      'role `films:role.pipeline` holds `apply_reviewed`',
      'role `films:role.crisis` holds `break_glass`',
      'roles list 1 groups that you may not look at, which change with fewer approvals',
    ],
  );
});

test('a warning names 10 members of a role, and counts the others', async (t) => {
  const withMembers = (count: number) => ({
    roles: { admin, crisis: Array.from({ length: count }, (_, index) => `user.u${10 + index}`) },
    rules: ['allow break_glass domain crisis'],
  });
  for (const [count, more] of [
    [10, ''],
    [11, ' and 1 more'],
  ] as const) {
    const sketch = withMembers(count);
    const [[, message] = []] = await warned({ before: sketch, after: { ...sketch, approvals: 1 } });
    t.true(message?.endsWith(`\`user.u19\`${more}`), message);
  }
});

test('trust in a domain with fewer approvals is warned of', async (t) => {
  const change = { before: trusting(plain), after: trusting(guarded), stored: stored(1) };
  t.regex(
    (await warned(change)).at(-1)?.[1] ?? '',
    /^role `films:role.publisher` trusts domain `media`, which changes with fewer than 2/,
  );
  t.is((await warned({ ...change, stored: stored(2) })).length, 1);
});
