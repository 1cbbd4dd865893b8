import test from 'ava';
import { managementWorld, send } from '#support/management-world';

const { server, base, boss, guest, operator, as, newDomain, end } = await managementWorld();
test.after.always(end);

type Change = [method: string, path: string, right: string, object: string];

/* With the right that each takes on which object, written again here: what the path states must be what the change asks for. */
const changes: Change[] = [
  ['PUT', '', 'manage_domain', 'domain'],
  ['PUT', '/limits', 'manage_domain', 'domain'],
  ['PUT', '/roles/fresh', 'manage_domain', 'role.fresh'],
  ['PUT', '/groups/fresh', 'manage_domain', 'group.fresh'],
  ['PUT', '/roles/reader/members/media.player', 'manage_members', 'role.reader'],
  ['PUT', '/groups/team/members/media.player', 'manage_members', 'group.team'],
  ['DELETE', '/roles/reader/members/media.guest', 'manage_members', 'role.reader'],
  ['DELETE', '/groups/team/members/media.guest', 'manage_members', 'group.team'],
  ['PUT', '/policies/fresh', 'manage_policies', 'policy.fresh'],
  ['PUT', '/policies/data/active', 'manage_policies', 'policy.data'],
  ['PUT', '/policies/data/versions/1', 'manage_policies', 'policy.data'],
  ['POST', '/policies/data/versions/0/assertions', 'manage_policies', 'policy.data'],
  ['DELETE', '/policies/data/versions/1', 'manage_policies', 'policy.data'],
  ['DELETE', '/policies/data', 'manage_policies', 'policy.data'],
  ['PUT', '/services/fresh', 'manage_services', 'service.fresh'],
  ['DELETE', '/services/api', 'manage_services', 'service.api'],
  ['PUT', '/services/api/keys/0', 'manage_keys', 'service.api'],
  ['DELETE', '/services/api/keys/0', 'manage_keys', 'service.api'],
];

for (const [index, [method, path, right, object]] of changes.entries()) {
  test(`${method} ${path} asks for ${right} on ${object} before it reads the body, and for no more`, async (t) => {
    const name = `asks${index}`;
    const domain = await newDomain(name);
    await boss(`${domain}/roles/reader`, send('PUT', { members: ['media.guest'] }));
    await boss(`${domain}/groups/team`, send('PUT', { members: ['media.guest'] }));
    await boss(`${domain}/roles/keepers`, send('PUT', { members: ['media.keyer'] }));
    await boss(`${domain}/services/api`, send('PUT', {}));
    await boss(`${domain}/policies/data`, send('PUT', [{ action: 'read', resource: 'film.*', role: 'reader' }]));
    await boss(`${domain}/policies/keep`, send('PUT', [{ action: right, resource: object, role: 'keepers' }]));
    const keyer = await as('media.keyer');
    const takesBody = method !== 'DELETE';
    const request = takesBody
      ? { method, headers: { 'content-type': 'application/json' }, body: '{"a":1,' }
      : send(method);
    const stranger = await guest(`${domain}${path}`, request);
    t.like(stranger, {
      status: 403,
      body: {
        code: 403,
        message: `\`media.guest\` lacks \`${right}\` on \`${name}:${object}\`: administrators of \`${name}\` and system operators (roles of \`sys.auth\`) can grant it`,
      },
    });
    const delegate = await keyer(`${domain}${path}`, request);
    if (takesBody) t.like(delegate, { status: 400 }, delegate.text);
    else t.true([200, 204, 404].includes(delegate.status), delegate.text);
    // Whether a domain is there is not told to who has no right in it.
    t.is((await guest(`${base}/domains/nothing${path}`, request)).status, 403);
  });
}

for (const path of ['/quotas', '/accounts/aws']) {
  test(`PUT ${path} is for system operators, whatever the body`, async (t) => {
    const domain = await newDomain(`system${path.replaceAll('/', '-')}`);
    const request = { method: 'PUT', headers: { 'content-type': 'application/json' }, body: '{' };
    t.is((await boss(`${domain}${path}`, request)).status, 403);
    t.is((await operator(`${domain}${path}`, request)).status, 400);
  });
}

test('who can make no domain at all is refused before the body is read, and who can make some after it', async (t) => {
  const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{' };
  t.like((await guest(`${base}/domains`, request)).body, {
    code: 403,
    message: '`media.guest` lacks `manage_domain` on every domain: system operators (roles of `sys.auth`) can grant it',
  });
  t.is((await operator(`${base}/domains`, request)).status, 400);
  await operator(`${base}/domains/sys.auth/roles/makers`, send('PUT', { members: ['media.player'] }));
  const rule = { action: 'manage_domain', resource: 'domain.films.*', role: 'makers' };
  t.is((await operator(`${base}/domains/sys.auth/policies/makers`, send('PUT', [rule]))).status, 201);
  const player = await as('media.player');
  t.is((await player(`${base}/domains`, request)).status, 400);
  t.is((await player(`${base}/domains`, send('POST', { domain: 'films.x', admins: ['media.boss'] }))).status, 201);
  t.is((await player(`${base}/domains`, send('POST', { domain: 'other', admins: ['media.boss'] }))).status, 403);
});

test('half a million numbers by somebody without a right: refused unread, in a short answer and a line of the log', async (t) => {
  const body = `{"domain":"x","admins":[${'1,'.repeat(500_000)}1]}`;
  const answer = await guest(`${base}/domains`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  t.is(answer.status, 403);
  t.true(answer.text.length < 1200);
  const id = answer.headers['x-request-id'];
  t.like(
    server.log.find((line) => line['requestId'] === id),
    { status: 403, principal: 'media.guest' },
  );
});
