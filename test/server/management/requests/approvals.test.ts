import { parseTimestamp, systemClock } from '@signet/policy-engine/clock';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { managementWorld, send } from '#support/management-world';

const clock = new FakeClock(systemClock.now());
const world = await managementWorld({ 'management.requests.issuedByOperators': true }, clock);
const { base, operator, as, end, server } = world;
const [ann, bob, cid] = [await as('user.ann'), await as('user.bob'), await as('user.cid')];
test.after.always(end);

const requests = `${base}/requests`;

interface RequestBody {
  readonly id: number;
  readonly state: string;
  readonly plan?: {
    readonly digest: string;
    readonly impact: readonly unknown[];
    readonly changes: readonly unknown[];
  };
  readonly [name: string]: unknown;
}

/** A domain with three administrators, a reader who sees nothing, and approvals. */
async function protectedDomain(name: string, approvals = 1): Promise<string> {
  const path = `${base}/domains/${name}`;
  const admins = ['user.ann', 'user.bob', 'user.cid', 'user.dan'];
  const made = await operator(`${base}/domains`, send('POST', { domain: name, admins, approvals }));
  if (made.status !== 201) throw new Error(made.text);
  return path;
}

const see = async (id: number, call = bob) => (await call(`${requests}/${id}`)).body as RequestBody;
const approve = async (id: number, call = bob, plan?: string) => {
  const digest = plan ?? (await see(id, call)).plan?.digest;
  return await call(`${requests}/${id}/approval`, send('POST', digest === undefined ? {} : { plan: digest }));
};

test.serial(
  'a change of a protected domain is refused, stored when asked for, and made by the approval of another person',
  async (t) => {
    const domain = await protectedDomain('guarded');
    const path = `${domain}/roles/reader`;
    const body = { members: ['media.player'] };
    t.like((await ann(path, send('PUT', body))).body, {
      code: 409,
      message: 'domain `guarded` needs 1 approval: add request=true (--request)',
    });
    t.is((await operator(path, send('PUT', body))).status, 409, 'operators are bound, too');
    const asked = await ann(`${path}?request=true&reason=ticket`, send('PUT', body));
    t.is(asked.status, 202, asked.text);
    const { id } = asked.body as RequestBody;
    t.is(asked.headers['location'], `/management/v1/requests/${id}`);
    t.like(asked.body, {
      kind: 'edit',
      state: 'open',
      author: 'user.ann',
      reason: 'ticket',
      domains: ['guarded'],
      needed: 1,
    });
    t.is((await ann(path)).status, 404, 'nothing has changed');
    const seen = await see(id);
    t.is(seen['seenByAuthor'], true);
    t.deepEqual(seen['operation'], { method: 'PUT', path: '/management/v1/domains/guarded/roles/reader', body });
    t.like(seen.plan, {
      changes: [
        { change: 'create', kind: 'role', name: 'reader' },
        { change: 'create', kind: 'member' },
      ],
    });
    t.like((await approve(id, ann)).body, { code: 403, message: 'nobody decides about a request of its own' });
    t.is((await approve(id, bob, 'A'.repeat(43))).status, 412);
    const done = await approve(id);
    t.is(done.status, 200, done.text);
    t.like(done.body, { state: 'applied', approvals: [{ by: 'user.bob', current: true }] });
    t.is((await ann(path)).status, 200);
    t.is((await approve(id, cid, 'A'.repeat(43))).status, 409, 'it is closed');
    const { items } = (await operator(`${domain}/changes`)).body as { items: readonly unknown[] };
    t.like(items[0], { actor: 'user.ann', action: 'change', reason: 'ticket' });
    const all = (await operator(`${base}/changes?subject=request.${id}`)).body as {
      items: readonly { action: string; actor: string }[];
    };
    t.deepEqual(
      all.items.map(({ action, actor }) => [action, actor]),
      [
        ['approve', 'user.bob'],
        ['request', 'user.ann'],
      ],
    );
  },
);

test.serial('documents need approvals, and are requested with the digest of their plan', async (t) => {
  await protectedDomain('papers');
  const text = `domain: papers
approvals: 1
roles:
  admin: { members: [user.ann, user.bob, user.cid, user.dan] }
  reader: { members: [media.player] }
policies:
  films:
    - { action: read, resource: film, role: reader }
`;
  const files = { files: [{ name: 'papers.yaml', text }] };
  const planned = (await ann(`${base}/plan`, send('POST', files))).body as { digest: string; needs: unknown };
  t.deepEqual(planned.needs, { papers: 1 });
  const apply = `${base}/apply?plan=${planned.digest}`;
  t.is((await ann(apply, send('POST', files))).status, 409);
  t.is((await ann(`${base}/apply?plan=${'A'.repeat(43)}&request=true`, send('POST', files))).status, 412);
  const asked = await ann(`${apply}&request=true`, send('POST', files));
  t.is(asked.status, 202, asked.text);
  const { id } = asked.body as RequestBody;
  t.like(await see(id), { files: [{ name: 'papers.yaml' }], kind: 'documents' });
  t.like((await bob(`${requests}/${id}?files=true&effect=false`)).body, { files: [{ name: 'papers.yaml', text }] });
  const done = await approve(id);
  t.is(done.status, 200, done.text);
  t.is((await ann(`${base}/domains/papers/policies/films`)).status, 200);
});

test.serial('a role is asked for by the hour, and its time runs from the approval', async (t) => {
  const domain = await protectedDomain('lent', 0);
  await ann(`${domain}/roles/publisher`, send('PUT', { approvals: 1, requestSeconds: 7200 }));
  await ann(`${domain}/policies/films`, send('PUT', [{ action: 'write', resource: 'film', role: 'publisher' }]));
  const eve = await as('user.eve');
  const ask = (role: string, seconds: number, reason = 'ticket 4711') =>
    eve(requests, send('POST', { role, seconds, reason }));
  t.is((await ask('lent:role.publisher', 7201)).status, 400);
  t.is((await ask('lent:role.admin', 3600)).status, 404);
  t.is((await ask('lent:role.nothing', 3600)).status, 404);
  t.is((await ask('nowhere:role.nothing', 3600)).status, 404);
  const asked = await ask('lent:role.publisher', 3600);
  t.is(asked.status, 201, asked.text);
  const { id } = asked.body as RequestBody;
  t.is((await cid(`${requests}/${id}`)).status, 200);
  t.is((await (await as('user.fay'))(`${requests}/${id}`)).status, 404);
  clock.advance(600_000);
  const seen = await see(id);
  t.like(seen.plan, { impact: [{ change: 'gain', principal: 'user.eve' }] });
  t.is((await approve(id, eve)).status, 403);
  const done = await approve(id);
  t.is(done.status, 200, done.text);
  const member = (await ann(`${domain}/roles/publisher/members/user.eve`)).body as { expires: string };
  t.is(parseTimestamp(member.expires), clock.now() + 3_600_000);
  t.is((await ask('lent:role.publisher', 1800)).status, 409, 'held for as long already');
});

test.serial('rejected, withdrawn and expired requests change nothing', async (t) => {
  const domain = await protectedDomain('closed');
  const ask = async () => {
    const asked = await ann(`${domain}/roles/reader?request=true`, send('PUT', {}));
    return (asked.body as RequestBody).id;
  };
  const [first, second, third] = [await ask(), await ask(), await ask()];
  t.is((await bob(`${requests}/${first}/rejection`, send('POST', { comment: 'no' }))).status, 200);
  t.is((await bob(`${requests}/${second}`, send('DELETE'))).status, 403);
  t.is((await ann(`${requests}/${second}`, send('DELETE'))).status, 204);
  const digest = (await see(third)).plan?.digest;
  const states = async () => {
    const { items } = (await bob(`${requests}?domain=closed`)).body as { items: readonly RequestBody[] };
    return items.map(({ state }) => state);
  };
  t.deepEqual(await states(), ['open', 'withdrawn', 'rejected']);
  clock.advance(8 * 86_400_000);
  t.deepEqual(await states(), ['expired', 'withdrawn', 'rejected']);
  t.is((await approve(third, bob, digest)).status, 409);
  t.is((await ann(`${domain}/roles/reader`)).status, 404);
});

test.serial('break-glass takes its right and a reason, is bounded, loud, and waits for a review', async (t) => {
  const domain = await protectedDomain('burning', 0);
  await ann(`${domain}/roles/firefighters`, send('PUT', { members: ['user.ann'] }));
  await ann(`${domain}/services/robot`, send('PUT', {}));
  await ann(`${domain}/roles/robots`, send('PUT', { members: ['burning.robot'] }));
  await ann(
    `${domain}/policies/emergency`,
    send('PUT', [
      { action: 'break_glass', resource: 'domain', role: 'firefighters' },
      { action: 'apply_reviewed', resource: 'domain', role: 'robots' },
    ]),
  );
  t.is((await ann(domain, send('PUT', { approvals: 1 }))).status, 200);
  const robot = await ann(`${domain}/services/robot?breakGlass=true&reason=fire`, send('PUT', { description: 'mine' }));
  t.is(robot.status, 403, 'nor does anybody become a service that needs no approvals');
  const path = `${domain}/roles/reader`;
  const body = { members: ['user.ann'] };
  t.is((await bob(`${path}?breakGlass=true&reason=fire`, send('PUT', body))).status, 403);
  t.is((await ann(`${path}?breakGlass=true`, send('PUT', body))).status, 400);
  t.is((await ann(`${domain}?breakGlass=true&reason=fire`, send('PUT', {}))).status, 403, 'approvals are not lowered');
  t.is(
    (await ann(`${domain}/roles/firefighters/members/user.dan?breakGlass=true&reason=fire`, send('PUT', {}))).status,
    403,
  );
  const made = await ann(`${path}?breakGlass=true&reason=fire`, send('PUT', body));
  t.is(made.status, 201, made.text);
  const member = (await ann(`${path}/members/user.ann`)).body as { expires: string };
  t.is(parseTimestamp(member.expires), clock.now() + 4 * 3_600_000);
  const line = server.log.find(({ msg }) => String(msg).includes('break-glass'));
  t.like(line, { level: 'error', caller: 'user.ann' });
  const { items } = (await bob(`${requests}?awaiting=me`)).body as { items: readonly RequestBody[] };
  const found = items.find(({ domains }) => String(domains) === 'burning');
  t.like(found, { state: 'unreviewed', author: 'user.ann', reason: 'fire' });
  t.false('outcome' in Object(found) || 'body' in Object(found?.['operation']), 'a list is brief');
  const id = found?.id ?? 0;
  t.like(await see(id), { outcome: { undo: [{ change: 'delete', kind: 'role', name: 'reader' }] } });
  const many = Array.from({ length: 1001 }, (_, index) => `user.u${index}`);
  const large = await ann(`${domain}/roles/large?breakGlass=true&reason=fire`, send('PUT', { members: many }));
  t.is(large.status, 201, large.text);
  const listed = await see(id + 1);
  t.is(Reflect.get(Object(listed['outcome']), 'changes').length, 1000, 'and no more');
  t.is((await ann(`${requests}/${id}/approval`, send('POST', {}))).status, 403);
  t.is((await bob(`${requests}/${id}/rejection`, send('POST', { comment: 'why?' }))).status, 200);
  t.is((await see(id)).state, 'unreviewed');
  t.is((await bob(`${requests}/${id}/approval`, send('POST', { comment: 'seen' }))).status, 200);
  t.is((await see(id)).state, 'applied');
});
