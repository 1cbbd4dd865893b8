import { join } from 'node:path';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { parseFolder } from '@signet/server/management/documents/read-folder';
import { planDocuments } from '@signet/server/management/plan-documents';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import fc from 'fast-check';
import { contentsOf } from '#support/store-contents';
import { temporaryFolder } from '#support/temp';

/* Whatever happens between a plan and its apply: what is applied has the effect that was planned, or nothing is applied. */

/** 2027-01-01T00:00:00Z. */
const start = 1_798_761_600_000;
const hour = 3_600_000;
const by = { actor: 'test' };

const people = fc.subarray(['user.ann', 'user.bob', 'media.player']);
const list = (members: readonly string[]) => `[${members.map((name) => `"${name}"`).join(', ')}]`;

/** Films reads a group of `media` and trusts it; one of its members ends after an hour. */
const films = (members: readonly string[]) => `domain: films
roles:
  admin: { members: [user.boss] }
  reader:
    members:
      - "media:group.team"
      - { name: user.brief, expires: 2027-01-01T01:00:00Z }
${members.map((name) => `      - "${name}"\n`).join('')}  lent: { trust: media }
policies:
  data:
    - { action: read, resource: film, role: reader }
    - { action: write, resource: film, role: lent }
`;
const media = (team: readonly string[], lenders: readonly string[], enabled: boolean) => `domain: media
roles:
  lender: { members: ${list(lenders)} }
groups:
  team: { members: ${list(team)} }
policies:
  lending:
    - { action: assume_role, resource: "films:role.lent", role: lender }
services: { player: { enabled: ${enabled} } }
`;
const other = (members: readonly string[]) => `domain: other\nroles:\n  any: { members: ${list(members)} }\n`;

/** Step between plan and apply: a document, or time that passes. */
const step = fc.oneof(
  fc.tuple(people, people, fc.boolean()).map((args) => ({ file: 'media.yaml', text: media(...args) })),
  people.map((members) => ({ file: 'films.yaml', text: films(members) })),
  people.map((members) => ({ file: 'other.yaml', text: other(members) })),
  fc.constantFrom(hour / 2, hour),
);

test('what is applied is what was planned, whatever happens in between', async (t) => {
  const seen = { applied: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(people, fc.array(step, { maxLength: 3 }), async (wanted, steps) => {
      const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'));
      try {
        const apply = (file: string, text: string, now: number, plan?: string) =>
          applyDocuments(store, parseFolder([{ file, text }]), by, { now, ...(plan !== undefined && { plan }) });
        await apply('media.yaml', media(['user.ann'], ['user.bob'], true), start);
        await apply('films.yaml', films([]), start);
        const folder = parseFolder([{ file: 'films.yaml', text: films(wanted) }]);
        const { digest, changes, impact } = await planDocuments(store, folder, start);
        let now = start;
        for (const one of steps) {
          if (typeof one === 'number') now += one;
          else await apply(one.file, one.text, now).catch(() => undefined);
        }
        const present = await planDocuments(store, folder, now);
        const isSame = JSON.stringify([present.changes, present.impact]) === JSON.stringify([changes, impact]);
        const before = await contentsOf(store);
        const outcome = await apply('films.yaml', films(wanted), now, digest).then(
          () => 'applied' as const,
          () => 'refused' as const,
        );
        seen[outcome] += 1;
        t.is(outcome, isSame ? 'applied' : 'refused');
        if (outcome === 'refused') t.deepEqual(await contentsOf(store), before);
      } finally {
        await store.close();
      }
    }),
    { numRuns: Number(process.env['SIGNET_WORLDS'] ?? 40) },
  );
  t.true(seen.applied > 3 && seen.refused > 3, JSON.stringify(seen));
});
