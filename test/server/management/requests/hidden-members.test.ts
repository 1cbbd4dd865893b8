import { join } from 'node:path';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { parseFolder } from '@signet/server/management/documents/read-folder';
import { askFor } from '@signet/server/management/requests/ask-for';
import { approveRequest, seeRequest } from '@signet/server/management/requests/decide';
import { requestView } from '@signet/server/management/requests/request-view';
import type { RequestContent } from '@signet/server/model/change-requests';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { temporaryFolder } from '#support/temp';

/*
 * Two stores that differ only in members that neither author nor approver may look at give the same requests, effects, digests and errors.
 * Author and approver are in no list that differs.
 */

const now = 1_798_761_600_000;
const [ann, zoe] = [parsePrincipalName('user.ann'), parsePrincipalName('user.zoe')];
const quotas = { roles: 100, members: 1000, groups: 100, policies: 100, assertions: 100, services: 100, keys: 100 };
const people = ['user.bob', 'user.cid', 'user.dan', 'media.player', 'media.studio'];
const subset = fc.subarray(people);
const hidden = fc.record({ secret: subset, staff: subset, lender: subset });

type Hidden = typeof hidden extends fc.Arbitrary<infer Value> ? Value : never;

const list = (members: readonly string[]) => `[${members.map((name) => `"${name}"`).join(', ')}]`;

function documents({ secret, staff, lender }: Hidden) {
  const media = `domain: media
approvals: 1
roles:
  admin: { members: [user.boss, user.head] }
  viewers: { members: [user.ann] }
  lender: { members: ${list(lender)} }
groups:
  shown: { members: [user.bob] }
  secret: { members: ${list(secret)} }
  staff: { members: ${list(staff)} }
policies:
  consent:
    - { action: view_domain, resource: group.shown, role: viewers }
    - { action: assume_role, resource: "films:role.lent", role: lender }
services: { player: {}, studio: {} }
`;
  const films = `domain: films
approvals: 1
roles:
  admin: { members: [user.ann, user.zoe] }
  reader: { members: ["media:group.shown"] }
  lent: { trust: media }
policies:
  data:
    - { action: read, resource: film, role: reader }
    - { action: write, resource: film, role: lent }
`;
  return parseFolder([
    { file: 'films.yaml', text: films },
    { file: 'media.yaml', text: media },
  ]);
}

const edits = fc.record({
  members: fc.subarray([...people, 'media:group.secret', 'media:group.shown', 'media:group.staff', 'media:group.none']),
  operation: fc.constantFrom('PutRole', 'PutRoleMember', 'DeleteRole', 'PutPolicy'),
  name: fc.constantFrom('reader', 'lent', 'fresh'),
});

function contentOf({
  members,
  operation,
  name,
}: typeof edits extends fc.Arbitrary<infer Value> ? Value : never): RequestContent {
  const params = { domainName: 'films', name };
  if (operation === 'PutRole') return { kind: 'edit', operation, params, flags: [], body: { members } };
  if (operation === 'PutRoleMember') {
    return { kind: 'edit', operation, params: { ...params, member: members[0] ?? 'user.bob' }, flags: [], body: {} };
  }
  if (operation === 'DeleteRole') return { kind: 'edit', operation, params, flags: [] };
  const rule = { action: 'read', resource: 'film', role: name };
  return { kind: 'edit', operation, params: { ...params, name: 'data' }, flags: [], body: [rule] };
}

async function told(t: ExecutionContext, members: Hidden, content: RequestContent): Promise<readonly string[]> {
  const store = await openSqliteStore(join(temporaryFolder(t), 'signet.db'));
  t.teardown(() => store.close());
  await applyDocuments(store, documents(members), { actor: 'test' }, { now });
  const asking = { author: { caller: ann }, context: { actor: ann }, now, quotas };
  const asked = await askFor(store, asking, { mode: 'request', content, requestMs: 3_600_000 }).catch(String);
  if (typeof asked === 'string' || asked.kind === 'made') return [JSON.stringify(asked)];
  const { id } = asked.request;
  const answers = [JSON.stringify(requestView(asked, { now }))];
  let plan: string | undefined;
  for (const caller of [ann, zoe]) {
    const deciding = {
      caller,
      certificate: { serial: '01' },
      context: { actor: caller },
      now,
      quotas,
      issuedByOperators: true,
    };
    const seen = await seeRequest(store, id, deciding, true);
    answers.push(JSON.stringify(requestView(seen, { now })));
    plan = seen.plan?.digest;
    const approved = approveRequest(store, id, deciding, plan === undefined ? {} : { plan });
    answers.push(await approved.then((request) => JSON.stringify(requestView({ request }, { now })), String));
  }
  return answers;
}

test('requests, their effects, digests and errors do not depend on members that nobody who is asked may look at', async (t) => {
  const seen = { stored: 0, refused: 0, applied: 0, via: 0 };
  await fc.assert(
    fc.asyncProperty(hidden, hidden, edits, async (one, other, edit) => {
      const content = contentOf(edit);
      const [first, second] = [await told(t, one, content), await told(t, other, content)];
      t.deepEqual(first, second);
      seen[first.length > 1 ? 'stored' : 'refused'] += 1;
      if (first.at(-1)?.includes('"state":"applied"') === true) seen.applied += 1;
      if (first.some((text) => text.includes('via media:'))) seen.via += 1;
    }),
    { numRuns: Number(process.env['SIGNET_WORLDS'] ?? 25) },
  );
  t.true(seen.stored > 2 && seen.refused > 2 && seen.applied > 2 && seen.via > 0, JSON.stringify(seen));
});
