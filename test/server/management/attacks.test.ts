import { generateKeyPairSync } from 'node:crypto';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { ForbiddenError } from '@signet/server/errors';
import { createLogger } from '@signet/server/logger';
import { changeDomain } from '@signet/server/management/change-domain';
import { openDryRuns } from '@signet/server/management/dry-runs';
import { parseMemberList, putMember } from '@signet/server/management/edits/edit-member-lists';
import { editing } from '@signet/server/management/judge-edit';
import { openLiveSnapshot } from '@signet/server/snapshot/live-snapshot';
import test from 'ava';
import { managementWorld, send, tagOf } from '#support/management-world';
import { principalToken } from '#support/principal-token';
import { saveDomain } from '#support/save-domain';

/* Attempts to gain rights with a part of them, and gaps of badly written checks. */

const { server, base, operator, boss, guest, as, newDomain, end } = await managementWorld();
const keyer = await as('media.keyer');
test.after.always(end);
const pem = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();

/** A domain whose role `keepers`, with `media.guest` in it, has these rights. */
async function delegated(name: string, ...rights: readonly (readonly [action: string, resource: string])[]) {
  const domain = await newDomain(name);
  await boss(`${domain}/roles/keepers`, send('PUT', { members: ['media.guest'] }));
  await boss(`${domain}/roles/reader`, send('PUT', {}));
  const rules = rights.map(([action, resource]) => ({ action, resource, role: 'keepers' }));
  await boss(`${domain}/policies/management`, send('PUT', rules));
  return domain;
}

/** The whole domain is the same afterwards. */
async function untouched(name: string, attempt: () => Promise<readonly number[]>): Promise<readonly number[]> {
  const stored = () => server.store.domain(parseDomainName(name));
  const before = await stored();
  const statuses = await attempt();
  if (JSON.stringify(await stored()) !== JSON.stringify(before)) throw new Error(`domain ${name} was changed`);
  return statuses;
}

test('a delegate for members gets into no role that manages: not by name, by group, by trust or in another case', async (t) => {
  const domain = await delegated('escalation', ['manage_members', 'role.*'], ['manage_members', 'group.*']);
  await boss(`${domain}/groups/chiefs`, send('PUT', {}));
  await boss(`${domain}/groups/plain`, send('PUT', {}));
  await boss(`${domain}/roles/admin/members/escalation:group.chiefs`, send('PUT', {}));
  const other = await newDomain('escalation.other');
  await boss(`${domain}/groups/lent`, send('PUT', {}));
  await boss(`${other}/roles/admin/members/escalation:group.lent`, send('PUT', {}));
  const off = await newDomain('escalation.off');
  await boss(`${domain}/groups/sleeping`, send('PUT', {}));
  await boss(`${off}/roles/admin/members/escalation:group.sleeping`, send('PUT', {}));
  await operator(off, send('PUT', { enabled: false }));
  const put = async (path: string) => (await guest(`${domain}/${path}/members/media.player`, send('PUT', {}))).status;
  t.deepEqual(
    await untouched('escalation', () =>
      Promise.all(
        ['roles/admin', 'roles/ADMIN', 'roles/keepers', 'groups/chiefs', 'groups/lent', 'groups/sleeping'].map(put),
      ),
    ),
    [403, 403, 403, 403, 403, 403],
  );
  t.is(await put('groups/plain'), 201);
  t.is((await guest(`${domain}/roles/reader`, send('PUT', { trust: 'media' }))).status, 403);
  const whole = send('PUT', { members: ['media.guest', 'media.boss'] });
  t.is((await guest(`${domain}/roles/admin`, whole)).status, 403);
});

test('a delegate for policies writes no rule that manages, assumes roles or hands out identities', async (t) => {
  const domain = await delegated('rules', ['manage_policies', 'policy.*']);
  const rule = (action: string, resource: string) => ({ action, resource, role: 'keepers' });
  const forbidden = [
    rule('manage_members', 'role.admin'),
    rule('Manage_*', '*'),
    rule('view_domain', 'domain'),
    rule('assume_role', 'role.admin'),
    { ...rule('ASSUME_ROLE', 'role.admin'), caseSensitive: true },
    rule('update', 'service.api'),
    rule('LAUNCH', 'Service.*'),
    rule('*', '*'),
    rule('upd*', 's*'),
    rule('assume_aws_role', 'administrator'),
    rule('assume_*', 'administrator'),
    rule('Assume_AWS_*', '*'),
    rule('ssh_login', 'ssh.root'),
    rule('SSH_*', 'ssh.*'),
    rule('ssh?login', '*'),
    rule('*', 's?h.root'),
    rule('*', 'ssh.root'),
    rule('delete', 'instance.i-1'),
    rule('revoke', 'ssh'),
    rule('access_check', 'principal.media.player'),
    rule('launch', 'instance'),
    rule('manage_m*', 'role.reader'),
    rule('m*', 'role.*'),
    rule('*', 'role.*'),
    { ...rule('m*', 'role.*'), effect: 'deny' },
    { ...rule('*', 'role.*'), effect: 'deny' },
    { ...rule('*', '*'), effect: 'deny' },
  ];
  const put = async (body: unknown) => (await guest(`${domain}/policies/mine`, send('PUT', [body]))).status;
  t.deepEqual(
    await untouched('rules', () => Promise.all(forbidden.map(put))),
    forbidden.map(() => 403),
  );
  // Kept in a version that is not active it does nothing, and to make it active is the same as writing it.
  const versions = { active: '1', versions: { '1': [], '2': [rule('manage_members', 'role.admin')] } };
  t.is((await guest(`${domain}/policies/mine`, send('PUT', versions))).status, 201);
  t.is((await guest(`${domain}/policies/mine/active`, send('PUT', { version: '2' }))).status, 403);
  t.is((await guest(`${domain}/policies/management`, send('DELETE'))).status, 403);
  t.is(await put(rule('update', 'film')), 200);
  t.is(await put(rule('*', 'film.*')), 200);
  t.is(await put(rule('*', 'services')), 200);
  t.is(await put({ ...rule('*', 'film.*'), effect: 'deny' }), 200);
});

test('a delegate for members gets into no role with authority, whichever action or pattern gives it', async (t) => {
  const actions: readonly (readonly [action: string, resource: string])[] = [
    ['assume_aws_role', 'administrator'],
    ['ssh_login', 'ssh.root'],
    ['launch', 'service.api'],
    ['update', 'service'],
    ['delete', 'instance.*'],
    ['access_check', 'principal.*'],
    ['*', '*'],
    ['ssh_*', 'ssh.*'],
  ];
  for (const [at, [action, resource]] of actions.entries()) {
    const domain = await delegated(`mighty${at}`, ['manage_members', 'role.*'], ['manage_members', 'group.*']);
    await boss(`${domain}/roles/mighty`, send('PUT', {}));
    await boss(`${domain}/groups/team`, send('PUT', {}));
    await boss(`${domain}/roles/mighty/members/mighty${at}:group.team`, send('PUT', {}));
    await boss(`${domain}/policies/power`, send('PUT', [{ action, resource, role: 'm*' }]));
    const statuses = await untouched(`mighty${at}`, async () => [
      (await guest(`${domain}/roles/mighty/members/media.guest`, send('PUT', {}))).status,
      (await guest(`${domain}/groups/team/members/media.guest`, send('PUT', {}))).status,
    ]);
    t.deepEqual(statuses, [403, 403], action);
    t.is((await guest(`${domain}/roles/reader/members/media.guest`, send('PUT', {}))).status, 201);
  }
});

test('a rule that only may name a right neither gives it nor takes it from who has it', async (t) => {
  const domain = await delegated('shadowed');
  const rules = [
    { action: 'm*', resource: '*', role: 'keepers' },
    { action: '*', resource: '*', role: 'keepers' },
  ];
  const put = () => guest(`${domain}/roles/reader/members/media.player`, send('PUT', {}));
  await boss(`${domain}/policies/a`, send('PUT', rules));
  t.is((await put()).status, 403);
  const named = { action: 'manage_members', resource: 'role.reader', role: 'keepers' };
  await boss(`${domain}/policies/z`, send('PUT', [{ ...named, resource: 'role.other' }]));
  t.is((await put()).status, 403);
  await boss(`${domain}/policies/z`, send('PUT', [{ ...named, role: 'reader' }]));
  t.is((await put()).status, 403);
  await boss(`${domain}/policies/z`, send('PUT', [{ ...named, conditions: [{ instances: 'h1' }] }]));
  t.is((await put()).status, 403);
  await boss(`${domain}/policies/z`, send('PUT', [{ ...named, role: 'keep*' }]));
  t.is((await put()).status, 201);
  await boss(`${domain}/policies/z`, send('PUT', [named, { ...named, action: '*', effect: 'deny' }]));
  t.is((await put()).status, 403);
});

test('a delegate for keys and services gets no key of somebody who manages anything', async (t) => {
  const domain = await delegated('keys', ['manage_keys', 'service.*'], ['manage_services', 'service.*']);
  await boss(`${domain}/services/chief`, send('PUT', {}));
  await boss(`${domain}/services/plain`, send('PUT', {}));
  await boss(`${domain}/roles/admin/members/keys.chief`, send('PUT', {}));
  await boss(`${domain}/roles/admin/members/keys.ghost`, send('PUT', {}));
  const elsewhere = await newDomain('keys.elsewhere');
  await boss(`${domain}/services/abroad`, send('PUT', {}));
  await boss(`${elsewhere}/roles/admin/members/keys.abroad`, send('PUT', {}));
  const asleep = await newDomain('keys.asleep');
  await boss(`${domain}/services/sleeper`, send('PUT', {}));
  await boss(`${asleep}/roles/admin/members/keys.sleeper`, send('PUT', {}));
  await operator(asleep, send('PUT', { enabled: false }));
  const put = async (name: string) => (await guest(`${domain}/services/${name}/keys/0`, send('PUT', { pem }))).status;
  t.deepEqual(
    await untouched('keys', async () => [
      await put('chief'),
      await put('abroad'),
      await put('sleeper'),
      (await guest(`${domain}/services/ghost`, send('PUT', {}))).status,
      (await guest(`${domain}/services/chief`, send('PUT', { enabled: false }))).status,
      (await guest(`${domain}/services/chief`, send('DELETE'))).status,
    ]),
    [403, 403, 403, 403, 403, 403],
  );
  t.is(await put('plain'), 201);
});

test('a key that a delegate registered gets no authority afterwards, whichever way the service would gain it', async (t) => {
  const domain = await delegated('planted', ['manage_keys', 'service.*']);
  const other = await newDomain('planted.other');
  const far = await newDomain('planted.far');
  await boss(`${domain}/services/api`, send('PUT', {}));
  await boss(`${domain}/roles/idle`, send('PUT', { members: ['planted.api'] }));
  await boss(`${domain}/groups/crew`, send('PUT', { members: ['planted.api'] }));
  await boss(`${other}/groups/chiefs`, send('PUT', {}));
  await boss(`${far}/roles/admin/members/planted.other:group.chiefs`, send('PUT', {}));
  t.is((await guest(`${domain}/services/api/keys/0`, send('PUT', { pem }))).status, 201);
  t.like((await guest(`${domain}/services/api/keys/0`)).body, { delegated: true });

  const power = [{ action: 'ssh_login', resource: 'ssh.root', role: 'idle' }];
  const attempts = async () => {
    const answers = [
      await boss(`${domain}/roles/admin/members/planted.api`, send('PUT', {})),
      await boss(`${domain}/roles/admin/members/planted.api`, send('PUT', { disabled: true })),
      await boss(`${domain}/roles/admin/members/planted.*?allowWildcard=true`, send('PUT', {})),
      await boss(`${domain}/roles/admin/members/*?allowWildcard=true`, send('PUT', {})),
      await boss(`${domain}/roles/admin/members/planted:group.crew`, send('PUT', {})),
      await boss(`${domain}/roles/admin`, send('PUT', { members: ['media.boss', 'planted.api'] })),
      await boss(`${domain}/policies/power`, send('PUT', power)),
      await boss(`${domain}/policies/power`, send('PUT', [{ ...power[0], role: 'i*' }])),
      await boss(`${other}/roles/admin/members/planted.api`, send('PUT', {})),
      await boss(`${other}/groups/chiefs/members/planted.api`, send('PUT', {})),
      await operator(`${base}/domains/sys.auth/roles/admin/members/planted.api`, send('PUT', {})),
      await operator(`${base}/domains`, send('POST', { domain: 'planted.new', admins: ['planted.api'] })),
      await boss(`${domain}/roles/admin/members/planted.api?dryRun=true`, send('PUT', {})),
    ];
    for (const { body } of answers.filter(({ status }) => status === 409)) {
      // `*` also names the services of tests that run at the same time.
      t.regex(String((body as { message: unknown }).message), /`[a-z.]+` cannot gain authority .* key `0`/);
    }
    return answers.map(({ status }) => status);
  };
  t.deepEqual(
    await untouched('planted', attempts),
    Array.from({ length: 13 }, () => 409),
  );
  // What carries no authority is not concerned.
  t.is((await boss(`${other}/roles/plain`, send('PUT', { members: ['planted.api'] }))).status, 201);

  // The delegate cannot make the key an administrator's; an administrator of the service's domain can.
  t.is((await guest(`${domain}/services/api/keys/0`, send('PUT', { pem }))).status, 200);
  t.is((await boss(`${domain}/policies/power`, send('PUT', power))).status, 409);
  t.is((await boss(`${domain}/services/api/keys/0`, send('PUT', { pem }))).status, 200);
  t.is((await boss(`${domain}/policies/power`, send('PUT', power))).status, 201);
  t.is((await guest(`${domain}/services/api/keys/1`, send('PUT', { pem }))).status, 403);
});

test('a delegate plants no key while the membership, the service or its entry is off', async (t) => {
  const domain = await delegated('sleeping', ['manage_keys', 'service.*'], ['manage_services', 'service.*']);
  const disabled = (name: string) => boss(`${domain}/roles/admin/members/${name}`, send('PUT', { disabled: true }));
  for (const name of ['off', 'entry', 'grouped']) await boss(`${domain}/services/${name}`, send('PUT', {}));
  await boss(`${domain}/roles/admin/members/sleeping.off`, send('PUT', {}));
  await boss(`${domain}/services/off`, send('PUT', { enabled: false }));
  await disabled('sleeping.entry');
  await boss(`${domain}/groups/team`, send('PUT', { members: [{ name: 'sleeping.grouped', disabled: true }] }));
  await boss(`${domain}/roles/admin/members/sleeping:group.team`, send('PUT', {}));
  const put = async (name: string) => (await guest(`${domain}/services/${name}/keys/0`, send('PUT', { pem }))).status;
  t.deepEqual(
    await untouched('sleeping', async () => [await put('off'), await put('entry'), await put('grouped')]),
    [403, 403, 403],
  );
  t.is((await guest(`${domain}/services/off`, send('PUT', { enabled: true }))).status, 403);
});

test('who is nobody in a domain, was disabled or has expired has no rights in it', async (t) => {
  const domain = await newDomain('gone');
  await boss(`${domain}/roles/admin/members/media.guest`, send('PUT', { expires: '2001-01-01T00:00:00Z' }));
  await boss(`${domain}/roles/admin/members/media.keyer`, send('PUT', { disabled: true }));
  for (const who of [guest, keyer]) t.is((await who(`${domain}/roles/mine`, send('PUT', {}))).status, 403);
  // The entries of those two do not count as administrators.
  t.is((await boss(`${domain}/roles/admin/members/media.boss`, send('DELETE'))).status, 409);
  t.is((await boss(`${domain}/roles/admin/members/media.boss`, send('PUT', { disabled: true }))).status, 409);
  const soon = send('PUT', { expires: '2098-01-01T00:00:00Z' });
  t.is((await boss(`${domain}/roles/admin/members/media.boss`, soon)).status, 409);
  t.is((await operator(domain, send('PUT', { enabled: false }))).status, 200);
  t.is((await boss(`${domain}/roles/mine`, send('PUT', {}))).status, 403);
  t.is((await boss(domain)).status, 403);
});

test('who lost a right through another server has lost it here as well', async (t) => {
  const domain = await newDomain('elsewhere');
  await boss(`${domain}/roles/admin/members/media.keyer`, send('PUT', {}));
  const name = parseDomainName('elsewhere');
  await server.store.change({ actor: 'another server' }, async (transaction) => {
    const content = await transaction.domain(name);
    const members = [{ name: 'media.keyer', disabled: false }];
    if (content === undefined) throw new Error('the domain is gone');
    await saveDomain(transaction, { ...content, roles: content.roles.map((role) => ({ ...role, members })) });
  });
  t.is((await boss(`${domain}/roles/admin/members/media.boss`, send('PUT', {}))).status, 403);
});

test('a right that was removed while a change waited for its turn is gone', async (t) => {
  const domain = await delegated('late', ['manage_members', 'role.reader']);
  await boss(`${domain}/roles/admin/members/media.keyer`, send('PUT', {}));
  const live = await openLiveSnapshot({ store: server.store, clock: systemClock, refreshIntervalMs: 3_600_000 });
  t.teardown(() => live.close());
  const name = parseDomainName('late');
  /** Between the last look at the store and the transaction of the change. */
  const takeAway = async () => {
    await live.refresh();
    await server.store.change({ actor: 'another server' }, async (transaction) => {
      const content = await transaction.domain(name);
      if (content === undefined) throw new Error('the domain is gone');
      const roles = content.roles.map((role) => ({
        ...role,
        members: role.members.filter((member) => !['media.guest', 'media.keyer'].includes(member.name)),
      }));
      await saveDomain(transaction, { ...content, roles });
    });
  };
  const many = 1000;
  const quotas = {
    roles: many,
    members: many,
    groups: many,
    policies: many,
    assertions: many,
    services: many,
    keys: many,
  };
  const deps = {
    store: server.store,
    snapshot: () => live.current(),
    snapshotAt: live.at,
    refresh: takeAway,
    changed: async () => undefined,
    clock: systemClock,
    quotas,
    dryRuns: openDryRuns({ place: { kind: 'sqlite', file: 'none' }, logger: createLogger('silent') }),
  };
  for (const who of ['media.guest', 'media.keyer']) {
    await boss(`${domain}/roles/keepers/members/media.guest`, send('PUT', {}));
    await boss(`${domain}/roles/admin/members/media.keyer`, send('PUT', {}));
    const list = parseMemberList('role', name, 'reader');
    const caller = parsePrincipalName(who);
    const request = { caller, context: { actor: caller }, mustBeNew: false, dryRun: false, allowWildcard: false };
    const edit = putMember(list, 'media.player', {});
    await t.throwsAsync(changeDomain(deps, request, editing(edit)), { instanceOf: ForbiddenError });
  }
  t.deepEqual((await boss(`${domain}/roles/reader/members`)).body, { items: [] });
});

test('the last administrator stays, whichever way the role is reached', async (t) => {
  const domain = await newDomain('last');
  await boss(`${domain}/groups/chiefs`, send('PUT', { members: ['media.boss'] }));
  t.is((await boss(`${domain}/roles/admin`, send('PUT', { members: ['last:group.chiefs'] }))).status, 200);
  t.deepEqual(
    await untouched('last', async () => [
      (await boss(`${domain}/groups/chiefs/members/media.boss`, send('DELETE'))).status,
      (await boss(`${domain}/groups/chiefs/members/media.boss`, send('PUT', { disabled: true }))).status,
      (await boss(`${domain}/groups/chiefs`, send('PUT', { members: [] }))).status,
      (await boss(`${domain}/groups/chiefs`, send('DELETE'))).status,
      (await boss(`${domain}/roles/admin/members/last:group.chiefs`, send('DELETE'))).status,
      (await boss(`${domain}/roles/admin`, send('PUT', { members: [] }))).status,
    ]),
    [409, 409, 409, 409, 409, 409],
  );
});

test('the domain of the system stays, and its administrators with it', async (t) => {
  const system = `${base}/domains/sys.auth`;
  t.deepEqual(
    await untouched('sys.auth', async () => [
      (await operator(system, send('PUT', { enabled: false }))).status,
      (await operator(`${base}/domains/SYS.auth`, send('PUT', { enabled: false }))).status,
      (await operator(system, send('DELETE'))).status,
      (await operator(`${system}/roles/admin/members/sys.auth.operator`, send('DELETE'))).status,
      (await boss(`${system}/roles/admin/members/media.boss`, send('PUT', {}))).status,
    ]),
    [409, 409, 409, 409, 403],
  );
});

test('no service gets the name of a user', async (t) => {
  const made = await operator(`${base}/domains`, send('POST', { domain: 'USER', admins: ['media.boss'] }));
  t.is(made.status, 409, made.text);
  t.is(await server.store.domain(parseDomainName('user')), undefined);
});

test('no service below `user` is taken for a user, whether it is new or was there before', async (t) => {
  const made = await operator(`${base}/domains`, send('POST', { domain: 'user.jane', admins: ['media.boss'] }));
  t.deepEqual(made.body, {
    code: 409,
    message: 'domain `user.jane` cannot be made: members such as `user.*` mean users',
  });
  // A store of before may have such a domain.
  await server.save({ name: 'user.jane', roles: { admin: ['media.boss'] } });
  const domain = `${base}/domains/user.jane`;
  const lib = await newDomain('lib.for.users');
  await boss(`${lib}/roles/reader`, send('PUT', {}));
  for (const member of ['user.*', 'user.j*', '*', 'user.jane.laptop']) {
    t.is((await boss(`${lib}/roles/reader/members/${member}?allowWildcard=true`, send('PUT', {}))).status, 201);
  }
  await boss(`${lib}/policies/p`, send('PUT', [{ action: 'read', resource: 'film', role: 'reader' }]));
  const put = await boss(`${domain}/services/laptop`, send('PUT', {}));
  t.deepEqual(put.body, {
    code: 409,
    message: 'domain `user.jane` cannot have services: members such as `user.*` mean users',
  });
  t.is((await boss(`${domain}/services/laptop?dryRun=true`, send('PUT', {}))).status, 409);
  // A store of before may have such a service.
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = pair.publicKey.export({ type: 'spki', format: 'pem' }).toString();
  await server.save({ name: 'user.jane', roles: { admin: ['media.boss'] }, services: { laptop: { 0: spki } } });
  const laptop = await as('user.jane.laptop');
  const path = '/access/read?resource=lib.for.users:film';
  const refused = await laptop(path);
  t.deepEqual(
    [refused.status, refused.body],
    [
      401,
      { code: 401, message: 'client certificate names no enabled service: its domain must have the service, enabled' },
    ],
  );
  const token = principalToken({
    now: systemClock.now(),
    key: pair.privateKey,
    fields: { d: 'user.jane', n: 'laptop' },
  });
  t.is((await guest(path, { headers: { 'svc-principal-auth': token } })).status, 401);
  t.deepEqual((await guest(`${path}&principal=user.jane.laptop`)).body, { granted: false });
  t.deepEqual((await guest(`${path}&principal=user.jane`)).body, { granted: true });
  t.is((await boss(`${domain}/services/laptop`, send('PUT', { description: 'still there' }))).status, 200);
  t.is((await boss(`${domain}/services/phone`, send('PUT', {}))).status, 409);
  t.is((await boss(`${domain}/services/laptop?removeMemberships=true`, send('DELETE'))).status, 204);
});

test('names are names: folded, decoded once, and nothing else', async (t) => {
  const domain = await newDomain('named');
  t.is((await boss(`${domain}/roles/Reader`, send('PUT', {}))).status, 201);
  t.is((await boss(`${base}/domains/NAMED/roles/rEADER`)).status, 200);
  t.is((await boss(`${domain}/roles/reader/members/MEDIA.Player`, send('PUT', {}))).status, 201);
  t.is((await boss(`${domain}/roles/reader/members/media%2eplayer`, send('PUT', {}))).status, 200);
  const bad = [
    'a%2fb',
    '%2e%2e',
    '..',
    'a%00b',
    'a%0ab',
    '%252e',
    'a%20b',
    'a:b',
    '%c3%28',
    '%',
    'a*',
    '%ff',
    'ſ',
    'x'.repeat(300),
  ];
  for (const name of bad) {
    const encoded = /[^\x21-\x7e]/.test(name) ? encodeURIComponent(name) : name;
    const answers = [
      await boss(`${domain}/roles/${encoded}`, send('PUT', {})),
      await boss(`${domain}/roles/reader/members/media.${encoded}`, send('PUT', {})),
      await boss(`${domain}/services/${encoded}`, send('PUT', {})),
      await boss(`${domain}/policies/${encoded}`, send('PUT', [])),
      await boss(`${base}/domains/${encoded}/roles`),
    ];
    for (const { status, text } of answers) t.true([400, 404, 405].includes(status), `${name}: ${status} ${text}`);
  }
  const members = [
    'media.play\u0000er',
    'media.player\n',
    ' media.player',
    'media.player*x',
    '**',
    'media.*.x',
    'müdia.x',
  ];
  for (const member of members) {
    const put = await boss(`${domain}/roles/reader?allowWildcard=true`, send('PUT', { members: [member] }));
    t.is(put.status, 400, member);
  }
  t.deepEqual((await boss(`${domain}/roles/reader/members`)).body, { items: [{ name: 'media.player' }] });
});

test('a body nested as deep as it is long is refused like any other', async (t) => {
  const domain = await newDomain('deep');
  const body = `${'['.repeat(400_000)}${']'.repeat(400_000)}`;
  const options = { method: 'PUT', headers: { 'content-type': 'application/json' }, body };
  for (const path of [
    'roles/reader',
    'policies/p',
    'policies/p/versions/1',
    'services/api',
    'roles/admin/members/a.b',
  ]) {
    t.is((await boss(`${domain}/${path}`, options)).status, 400, path);
  }
});

test('names of JavaScript are names like others', async (t) => {
  const domain = await newDomain('proto');
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    t.is((await boss(`${domain}/roles/${name}`, send('PUT', {}))).status, 201, name);
    const rule = { action: 'a', resource: 'b', role: name };
    t.is((await boss(`${domain}/policies/${name}`, send('PUT', [rule]))).status, 201, name);
    t.like((await boss(`${domain}/policies/${name}`)).body, { name: name.toLowerCase(), active: '0' });
    const version = await boss(`${domain}/policies/p/versions/${name}`, send('PUT', [rule]));
    const whole = { active: '1', versions: { '1': [], [name]: [rule] } };
    const put = await boss(`${domain}/policies/whole`, send('PUT', whole));
    if (name === '__proto__') {
      t.deepEqual([version.status, put.status], [400, 400]);
    } else {
      t.true([200, 201].includes(version.status) && [200, 201].includes(put.status), `${name} ${version.text}`);
      t.true((await boss(`${domain}/policies/p`)).text.includes(`"${name}":[{`));
    }
    t.is((await boss(`${domain}/roles/reader?${name}=1`, send('PUT', {}))).status, 400, name);
  }
});

test('a dry run asks for the same rights and refuses the same', async (t) => {
  const domain = await delegated('dryly', ['manage_members', 'role.reader']);
  const dry = async (who: typeof boss, path: string, method: string, body?: unknown) =>
    (await who(`${domain}/${path}?dryRun=true`, send(method, body))).status;
  t.deepEqual(
    await untouched('dryly', async () => [
      await dry(guest, 'roles/admin/members/media.guest', 'PUT', {}),
      await dry(guest, 'roles/reader/members/media.guest', 'PUT', {}),
      await dry(boss, 'roles/admin/members/media.boss', 'DELETE'),
      await dry(boss, 'roles/reader/members/*', 'PUT', {}),
      await dry(keyer, 'roles/reader', 'PUT', {}),
    ]),
    [403, 200, 409, 400, 403],
  );
  const tag = tagOf(await boss(`${domain}/roles/reader`));
  await boss(`${domain}/roles/reader`, send('PUT', { description: 'x' }));
  t.is((await boss(`${domain}/roles/reader?dryRun=true`, send('DELETE', undefined, { 'if-match': tag }))).status, 412);
});
