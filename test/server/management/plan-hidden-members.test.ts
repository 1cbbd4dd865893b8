import { join } from 'node:path';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { parseFolder } from '@signet/server/management/documents/read-folder';
import { planDocuments } from '@signet/server/management/plan-documents';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { temporaryFolder } from '#support/temp';

/* Two stores that differ only in members that the author of documents may not look at give the same plans, digests and refusals. */

/** 2027-01-01T00:00:00Z. */
const now = 1_798_761_600_000;
const by = { actor: 'test' };
const author = { caller: parsePrincipalName('user.ann') };

const people = ['user.bob', 'user.cid', 'user.dan', 'media.player', 'media.studio'];
const subset = fc.subarray(people);
/** Groups have no patterns. */
const withPattern = fc.subarray([...people, 'user.*']);

/** Members of lists of `media` that `user.ann` may not look at. */
const hidden = fc.record({ secret: subset, staff: subset, lender: withPattern, ends: fc.boolean() });

type Hidden = typeof hidden extends fc.Arbitrary<infer Value> ? Value : never;

function list(members: readonly string[]): string {
  return `[${members.map((name) => `"${name}"`).join(', ')}]`;
}

/** Only `media:group.shown` is visible to the author. */
function foreign({ secret, staff, lender, ends }: Hidden): string {
  const end = ends ? ', expires: 2027-06-01T00:00:00Z' : '';
  const timed = staff.map((name) => `{ name: "${name}"${end} }`).join(', ');
  return `domain: media
roles:
  admin: { members: [user.boss] }
  viewers: { members: [user.ann] }
  lender: { members: ${list(lender)} }
  own: { members: ["media:group.secret"] }
groups:
  shown: { members: [user.bob] }
  secret: { members: ${list(secret)} }
  staff: { members: [${timed}] }
policies:
  consent:
    - { action: view_domain, resource: group.shown, role: viewers }
    - { action: assume_role, resource: "films:role.lent", role: lender }
  data:
    - { action: read, resource: thing, role: own }
services: { player: {}, studio: {} }
`;
}

/** Documents of the author: some refer to what it may not look at. */
const wanted = fc.record({
  readers: withPattern,
  groups: fc.subarray(['media:group.secret', 'media:group.staff', 'media:group.shown', 'media:group.none']),
  isLent: fc.boolean(),
  hasPolicy: fc.boolean(),
  asked: fc.constantFrom('user.bob', 'user.cid', 'user.dann', 'media.player'),
  expected: fc.constantFrom('allow', 'deny'),
  hasCase: fc.boolean(),
});

type Wanted = typeof wanted extends fc.Arbitrary<infer Value> ? Value : never;

type Stored = 'readers' | 'groups' | 'isLent' | 'hasPolicy';

function films({ readers, groups, isLent, hasPolicy }: Pick<Wanted, Stored>): string {
  const rules = hasPolicy ? '\n    - { action: read, resource: film, role: reader }' : ' []';
  return `domain: films
roles:
  admin: { members: [user.ann] }
  reader: { members: ${list([...readers, ...groups])} }
${isLent ? '  lent: { trust: media }\n' : ''}policies:
  data:${rules}${isLent ? '\n  lent:\n    - { action: write, resource: film, role: lent }' : ''}
`;
}

async function planned(
  t: ExecutionContext,
  members: Hidden,
  before: Pick<Wanted, Stored>,
  after: Wanted,
): Promise<string> {
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'));
  t.teardown(() => store.close());
  const known = before.groups.filter((group) => group !== 'media:group.none');
  const stored = [
    { file: 'media.yaml', text: foreign(members) },
    { file: 'films.yaml', text: films({ ...before, groups: known }) },
  ];
  await applyDocuments(store, parseFolder(stored), by, { now, allowWildcard: true });
  const { asked, expected, hasCase } = after;
  const cases = `- { principal: ${asked}, action: read, resource: "films:film", expect: ${expected} }\n`;
  const folder = parseFolder([
    { file: 'films.yaml', text: films(after) },
    ...(hasCase ? [{ file: 'films.cases.yaml', text: cases }] : []),
  ]);
  return planDocuments(store, folder, now, { author, allowWildcard: true }).then(JSON.stringify, String);
}

test('plans, digests and refusals do not depend on members that the author may not look at', async (t) => {
  const seen = { plans: 0, refused: 0, via: 0 };
  await fc.assert(
    fc.asyncProperty(hidden, hidden, wanted, wanted, async (one, other, before, after) => {
      const answers = [await planned(t, one, before, after), await planned(t, other, before, after)];
      t.is(answers[0], answers[1]);
      const [answer = ''] = answers;
      seen[answer.startsWith('{') ? 'plans' : 'refused'] += 1;
      if (answer.includes('via media:')) seen.via += 1;
    }),
    { numRuns: Number(process.env['SIGNET_WORLDS'] ?? 60) },
  );
  t.true(seen.plans > 5 && seen.refused > 5 && seen.via > 0, JSON.stringify(seen));
});

test('who sees the members is told of them', async (t) => {
  const nobody = { secret: [], staff: [], lender: [], ends: false };
  const wants = {
    readers: [] as string[],
    groups: ['media:group.shown'] as Wanted['groups'],
    isLent: false,
    hasPolicy: true,
    asked: 'user.bob',
    expected: 'allow',
    hasCase: true,
  } as const;
  const answer = JSON.parse(await planned(t, nobody, { ...wants, groups: [] }, wants));
  t.like(answer, { casesPassed: 1, impact: [{ principal: 'user.bob', change: 'gain' }] });
});
