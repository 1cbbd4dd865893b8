import { generateKeyPairSync } from 'node:crypto';
import { parseDomainName } from '@signet/policy-engine/names';
import test from 'ava';
import { managementWorld, send } from '#support/management-world';
import type { Answer, Caller } from '#support/start-server';

/* Isolation of tenants: what one learns of another through dry runs, and how it can block the other. */

const { server, base, operator, boss, guest, as, newDomain, end } = await managementWorld();
const keyer = await as('media.keyer');
test.after.always(end);

/** A domain of `media.keyer`, whose groups and roles `media.boss` may not look at. */
async function vault(name: string): Promise<string> {
  const domain = await newDomain(name, { admins: ['media.keyer'] });
  const secret = { members: ['hidden.one', 'hidden.two', { name: 'hidden.three', disabled: true }] };
  await keyer(`${domain}/groups/secret`, send('PUT', secret));
  return domain;
}

interface ShownPreview {
  readonly impact: readonly { readonly principal: string; readonly domain: string; readonly example: object }[];
  readonly warnings?: readonly string[];
}

async function dry(
  who: Caller,
  path: string,
  method: string,
  body?: unknown,
): Promise<ShownPreview & { text: string }> {
  const answer = await who(`${path}?dryRun=true`, send(method, body));
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return { ...(answer.body as ShownPreview), text: answer.text };
}

const rule = (role: string) => [{ action: 'read', resource: 'film', role }];
const principals = ({ impact }: ShownPreview) => impact.map(({ principal }) => principal);
const message = ({ body }: Answer) => String((body as { message: unknown }).message);

test('a dry run tells of a group that the author may not look at only that it is there', async (t) => {
  const theirs = await vault('vault1');
  const domain = await newDomain('lib1');
  await operator(`${domain}/roles/reader`, send('PUT', { members: ['vault1:group.secret', 'media.player'] }));
  t.is((await boss(`${theirs}/groups/secret`)).status, 403);
  const told = await dry(boss, `${domain}/policies/p`, 'PUT', rule('reader'));
  t.deepEqual(principals(told), ['via vault1:group.secret', 'media.player']);
  t.notRegex(told.text, /hidden|_folded_/);
  // Nothing in the answer depends on who the members are, also where the author knows one of them.
  await keyer(`${theirs}/groups/secret`, send('PUT', { members: ['media.player'] }));
  t.is((await dry(boss, `${domain}/policies/p`, 'PUT', rule('reader'))).text, told.text);
  // Who may look at it is told, as before.
  await keyer(`${theirs}/roles/partners`, send('PUT', { members: ['media.boss'] }));
  const consent = [{ action: 'view_domain', resource: 'group.secret', role: 'partners' }];
  await keyer(`${theirs}/policies/consent`, send('PUT', consent));
  t.deepEqual(principals(await dry(boss, `${domain}/policies/p`, 'PUT', rule('reader'))), ['media.player']);
  t.deepEqual(principals(await dry(operator, `${domain}/policies/p`, 'PUT', rule('reader'))), ['media.player']);
});

test('a dry run tells of the roles of a trusted domain only that they are there', async (t) => {
  const theirs = await vault('vault2');
  const domain = await newDomain('lib2');
  await keyer(`${theirs}/roles/lenders`, send('PUT', { members: ['hidden.four'] }));
  await keyer(
    `${theirs}/policies/lend`,
    send('PUT', [{ action: 'assume_role', resource: 'lib2:role.lent', role: 'lenders' }]),
  );
  await boss(`${domain}/roles/lent`, send('PUT', { trust: 'vault2' }));
  const told = await dry(boss, `${domain}/policies/p`, 'PUT', rule('lent'));
  t.deepEqual(principals(told), ['via vault2:role.lenders']);
  t.notRegex(told.text, /hidden|_folded_/);
});

test('a delegate is told only of the roles that he may look at', async (t) => {
  const domain = await newDomain('lib3');
  await boss(`${domain}/roles/writers`, send('PUT', { members: ['media.guest'] }));
  await boss(`${domain}/roles/reader`, send('PUT', { members: ['hidden.five'] }));
  await boss(
    `${domain}/policies/management`,
    send('PUT', [{ action: 'manage_policies', resource: 'policy.p', role: 'writers' }]),
  );
  t.is((await guest(`${domain}/roles/reader`)).status, 403);
  const told = await dry(guest, `${domain}/policies/p`, 'PUT', rule('reader'));
  t.deepEqual(principals(told), ['via lib3:role.reader']);
  t.notRegex(told.text, /hidden|_folded_/);
  t.deepEqual(principals(await dry(boss, `${domain}/policies/p`, 'PUT', rule('reader'))), ['hidden.five']);
});

test('a dry run says nothing of the access in domains that the author may not look at', async (t) => {
  const mine = await newDomain('lib4');
  const theirs = await vault('vault4');
  await boss(`${mine}/groups/team`, send('PUT', { members: ['media.player'] }));
  await operator(`${theirs}/roles/keepers`, send('PUT', { members: ['lib4:group.team'] }));
  await keyer(`${theirs}/policies/p`, send('PUT', [{ action: 'open', resource: 'safe', role: 'keepers' }]));
  const told = await dry(boss, `${mine}/groups/team/members/media.player`, 'DELETE');
  t.deepEqual(told.impact, []);
  t.deepEqual(told.warnings, ['access may change in domains that you may not look at']);
  t.notRegex(told.text, /vault4|open|safe/);
  const gone = await dry(boss, `${mine}/groups/team`, 'DELETE');
  t.deepEqual(gone.warnings, [
    'access may change in domains that you may not look at',
    'a domain that you may not look at has a role with the group `lib4:group.team`, which grants nothing any more',
  ]);
  t.notRegex(gone.text, /vault4|open|safe/);
  const all = await dry(operator, `${mine}/groups/team`, 'DELETE');
  t.deepEqual(principals(all), ['media.player']);
  t.deepEqual(all.warnings, [
    'domain `vault4` has a role with the group `lib4:group.team`, which grants nothing any more',
  ]);
});

test('a group of another domain becomes a member only where that domain lets the author look at it', async (t) => {
  const theirs = await vault('vault5');
  const domain = await newDomain('lib5');
  await boss(`${domain}/roles/reader`, send('PUT', {}));
  const put = (group: string, more = '') => boss(`${domain}/roles/reader/members/${group}${more}`, send('PUT', {}));
  const answers = [await put('vault5:group.secret'), await put('vault5:group.none'), await put('nowhere:group.none')];
  t.deepEqual(
    answers.map(({ status }) => status),
    [403, 403, 403],
  );
  // The answer does not say whether there is such a group.
  const texts = answers.map((answer) => message(answer).replace(/`[^`]*:group\.\w+`/, '…'));
  t.is(new Set(texts).size, 1);
  t.is((await put('vault5:group.secret', '?dryRun=true')).status, 403);
  t.is((await boss(`${domain}/roles/reader`, send('PUT', { members: ['vault5:group.secret'] }))).status, 403);
  await keyer(`${theirs}/roles/partners`, send('PUT', { members: ['media.boss'] }));
  const consent = (resource: string) => send('PUT', [{ action: 'view_domain', resource, role: 'partners' }]);
  await keyer(`${theirs}/policies/consent`, consent('group.other'));
  t.is((await put('vault5:group.secret')).status, 403);
  await keyer(`${theirs}/policies/consent`, consent('group.secret'));
  t.is((await put('vault5:group.secret')).status, 201);
  // What is there stays when the consent ends, and other members can still be changed.
  await keyer(`${theirs}/policies/consent`, send('DELETE'));
  t.is((await boss(`${domain}/roles/reader/members/media.player`, send('PUT', {}))).status, 201);
  t.is((await boss(`${domain}/roles/reader`, send('PUT', { members: ['vault5:group.secret'] }))).status, 200);
});

test('nobody keeps an owner from deleting a group: the entries of others stay, grant nothing and are told', async (t) => {
  const mine = await newDomain('lib6');
  const theirs = await vault('vault6');
  await boss(`${mine}/groups/team`, send('PUT', { members: ['media.player'] }));
  await operator(`${theirs}/roles/keepers`, send('PUT', { members: ['lib6:group.team'] }));
  await keyer(`${theirs}/policies/p`, send('PUT', [{ action: 'open', resource: 'safe', role: 'keepers' }]));
  const check = async () => (await guest('/access/open?resource=vault6:safe&principal=media.player')).body;
  t.deepEqual(await check(), { granted: true });
  const deleted = await boss(`${mine}/groups/team`, send('DELETE'));
  t.is(deleted.status, 204);
  t.regex(
    String(deleted.headers['signet-warning']),
    /^a domain that you may not look at has a role with the group `lib6:group.team`/,
  );
  t.deepEqual(await check(), { granted: false });
  t.like((await keyer(`${theirs}/roles/keepers`)).body, { members: ['lib6:group.team'] });
});

test('an owner deletes a service that others list, and is told of them no more than he may know', async (t) => {
  const mine = await newDomain('lib12');
  const theirs = await vault('vault12');
  for (const name of ['api', 'web']) await boss(`${mine}/services/${name}`, send('PUT', {}));
  await keyer(`${theirs}/roles/keepers`, send('PUT', { members: ['lib12.api', 'lib12.web'] }));
  await boss(`${mine}/roles/own`, send('PUT', { members: ['lib12.api'] }));
  const folded = '1 role or group that you may not look at';
  const refused = await boss(`${mine}/services/api`, send('DELETE'));
  t.is(refused.status, 409);
  t.true(message(refused).startsWith(`service \`lib12.api\` is a member of \`lib12:role.own\`, ${folded}: `));
  const flags = 'removeMemberships=true';
  const told = `\`lib12.api\` is taken out of ${folded}`;
  t.like((await boss(`${mine}/services/api?dryRun=true&${flags}`, send('DELETE'))).body, {
    warnings: ['access may change in domains that you may not look at', told],
  });
  const deleted = await boss(`${mine}/services/api?${flags}`, send('DELETE'));
  t.deepEqual([deleted.status, deleted.headers['signet-warning']], [204, told]);
  t.notRegex(refused.text + told, /vault12/);
  // The domain goes in the same way.
  await operator(mine, send('PUT', { enabled: false }));
  t.is((await operator(mine, send('DELETE'))).status, 409);
  const warning = '`lib12.web` is taken out of `vault12:role.keepers`';
  t.like((await operator(`${mine}?dryRun=true&${flags}`, send('DELETE'))).body, { warnings: [warning] });
  const ended = await operator(`${mine}?${flags}`, send('DELETE'));
  t.deepEqual([ended.status, ended.headers['signet-warning']], [204, warning]);
  t.notRegex((await keyer(`${theirs}/roles/keepers`)).text, /lib12/);
});

test('a warning that is too long for the headers of a client is cut', async (t) => {
  const mine = await newDomain('lib13');
  const theirs = await newDomain('lib14');
  const services = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(40));
  for (const name of services) await boss(`${mine}/services/${name}`, send('PUT', {}));
  const members = services.map((name) => `lib13.${name}`);
  for (let count = 0; count < 20; count += 1) {
    await boss(`${theirs}/roles/${'long'.repeat(12)}-${count}`, send('PUT', { members }));
  }
  await operator(mine, send('PUT', { enabled: false }));
  const deleted = await operator(`${mine}?removeMemberships=true`, send('DELETE'));
  const warning = String(deleted.headers['signet-warning']);
  t.deepEqual([deleted.status, warning.length], [204, 4096]);
  t.regex(warning, /^`lib13\.a{40}` is taken out of `lib14:role\..* \.\.\.$/);
});

test('nobody keeps a domain from being deleted, and whoever has its name next is not let in', async (t) => {
  const mine = await newDomain('lib7');
  const theirs = await vault('vault7');
  await boss(`${mine}/groups/team`, send('PUT', { members: ['media.player'] }));
  await operator(`${theirs}/roles/keepers`, send('PUT', { members: ['lib7:group.team', 'media.studio'] }));
  await keyer(`${theirs}/roles/lent`, send('PUT', { trust: 'lib7', description: 'lent' }));
  await operator(theirs, send('PUT', { enabled: false }));
  await operator(mine, send('PUT', { enabled: false }));
  const warning = 'domain `vault7` has roles with groups of `lib7` or that trust it: these references end';
  t.deepEqual((await dry(operator, mine, 'DELETE')).warnings, [warning]);
  t.like(await server.store.domain(parseDomainName('vault7')), { roles: { 1: { members: { length: 2 } } } });
  const deleted = await operator(mine, send('DELETE'));
  t.deepEqual([deleted.status, deleted.headers['signet-warning']], [204, warning]);
  const roles = (await server.store.domain(parseDomainName('vault7')))?.roles ?? [];
  t.deepEqual(
    roles.map(({ name, trust, members }) => [String(name), trust, members.map((member) => member.name)]),
    [
      ['admin', undefined, ['media.keyer']],
      ['keepers', undefined, ['media.studio']],
      ['lent', undefined, []],
    ],
  );
  const [record] = await server.store.audit({ limit: 1, subject: 'vault7' });
  t.is(record?.actor, 'sys.auth.operator');
});

test('a search shows memberships only of the roles and groups that the caller may look at', async (t) => {
  const domain = await newDomain('lib8');
  await boss(`${domain}/roles/readers`, send('PUT', { members: ['hidden.six'] }));
  await boss(`${domain}/roles/open`, send('PUT', { members: ['hidden.six'] }));
  await boss(`${domain}/groups/team`, send('PUT', { members: ['hidden.six'] }));
  await boss(`${domain}/roles/watchers`, send('PUT', { members: ['media.guest'] }));
  const rules = ['domain', 'role.open'].map((resource) => ({ action: 'view_domain', resource, role: 'watchers' }));
  await boss(`${domain}/policies/watch`, send('PUT', rules));
  const found = async (who: Caller) =>
    ((await who(`${base}/search?member=hidden.six`)).body as { items: { name: string }[] }).items.map(
      ({ name }) => name,
    );
  t.deepEqual(await found(guest), ['open']);
  t.deepEqual(await found(boss), ['team', 'open', 'readers']);
});

test('details of roles and groups are of those that the caller may look at', async (t) => {
  const domain = await newDomain('lib30');
  await boss(`${domain}/roles/readers`, send('PUT', { description: 'secret', members: ['hidden.seven'] }));
  await boss(`${domain}/roles/open`, send('PUT', { description: 'open', members: ['hidden.seven'] }));
  await boss(`${domain}/groups/team`, send('PUT', { members: ['hidden.seven'] }));
  await boss(`${domain}/roles/watchers`, send('PUT', { members: ['media.guest'] }));
  const rules = ['domain', 'role.open'].map((resource) => ({ action: 'view_domain', resource, role: 'watchers' }));
  await boss(`${domain}/policies/watch`, send('PUT', rules));
  const open = { name: 'open', description: 'open', members: ['hidden.seven'] };
  const roles = await guest(`${domain}/role-details`);
  t.deepEqual(roles.body, { items: [{ name: 'admin' }, open, { name: 'readers' }, { name: 'watchers' }] });
  t.deepEqual((await guest(`${domain}/group-details`)).body, { items: [{ name: 'team' }] });
  t.deepEqual((await boss(`${domain}/group-details`)).body, { items: [{ name: 'team', members: ['hidden.seven'] }] });
});

test('a key of a delegate in a group of others tells nothing of the group', async (t) => {
  const theirs = await vault('vault9');
  const mine = await newDomain('lib9');
  const pem = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString();
  await keyer(`${theirs}/services/hidden`, send('PUT', {}));
  await keyer(`${theirs}/roles/keepers`, send('PUT', { members: ['media.guest'] }));
  await keyer(
    `${theirs}/policies/keys`,
    send('PUT', [{ action: 'manage_keys', resource: 'service.*', role: 'keepers' }]),
  );
  t.is((await guest(`${theirs}/services/hidden/keys/0`, send('PUT', { pem }))).status, 201);
  await keyer(`${theirs}/groups/secret`, send('PUT', { members: ['vault9.hidden'] }));
  const join = (group: string, query = '') =>
    boss(`${mine}/roles/admin/members/vault9:group.${group}${query}`, send('PUT', {}));
  for (const query of ['', '?dryRun=true']) {
    const [there, missing] = [await join('secret', query), await join('missing', query)];
    t.is(there.status, 403);
    t.is(there.text.replaceAll('secret', 'missing'), missing.text);
  }
  // It is a member already, and the author may not look at it.
  await operator(`${mine}/roles/idle`, send('PUT', { members: ['vault9:group.secret'] }));
  const power = send('PUT', [{ action: 'ssh_login', resource: 'ssh.root', role: 'idle' }]);
  const refused = await boss(`${mine}/policies/p`, power);
  t.is(refused.status, 409);
  t.regex(message(refused), /^group `vault9:group\.secret` cannot gain authority while a service in it has/);
  t.notRegex(refused.text, /hidden/);
  t.regex(message(await operator(`${mine}/policies/p`, power)), /^service `vault9\.hidden` .* public key `0`/);
});

test('the changes of a domain tell no members of roles and groups that the caller may not look at', async (t) => {
  const domain = await newDomain('lib10');
  await boss(`${domain}/roles/readers`, send('PUT', { members: ['hidden.seven'] }));
  await boss(`${domain}/groups/team`, send('PUT', { members: ['hidden.seven'], description: 'hidden' }));
  await boss(`${domain}/groups/team/members/hidden.seven`, send('DELETE'));
  await boss(`${domain}/roles/open`, send('PUT', { members: ['media.player'] }));
  await boss(`${domain}/roles/watchers`, send('PUT', { members: ['media.guest'] }));
  const rules = ['domain', 'role.open'].map((resource) => ({ action: 'view_domain', resource, role: 'watchers' }));
  await boss(`${domain}/policies/watch`, send('PUT', rules));
  t.is((await guest(`${domain}/roles/readers`)).status, 403);
  const shown = await guest(`${domain}/changes`);
  t.is(shown.status, 200);
  t.notRegex(shown.text, /hidden/);
  t.regex(shown.text, /"roles":\[\{"name":"readers"\}\]/);
  t.regex(shown.text, /"name":"open","members":\[\{"name":"media\.player"/);
  t.regex((await boss(`${domain}/changes`)).text, /hidden\.seven/);
});

test('the changes of a domain are its own: not those of an earlier one, nor of what else has its name', async (t) => {
  const domain = await newDomain('lib11');
  await boss(`${domain}/groups/team`, send('PUT', { members: ['hidden.eight'] }));
  await operator(domain, send('PUT', { enabled: false }));
  await operator(domain, send('DELETE'));
  await operator(`${base}/domains?reuseName=true`, send('POST', { domain: 'lib11', admins: ['media.boss'] }));
  await boss(`${domain}/groups/team`, send('PUT', {}));
  const paths = [`${domain}/changes`, `${domain}/groups/team/changes`];
  for (const path of paths) t.notRegex((await boss(path)).text, /hidden/);
  t.is(((await boss(`${domain}/groups/team/changes`)).body as { items: unknown[] }).items.length, 1);
  await newDomain('credentials');
  await server.store.change({ actor: 'sys.auth.server' }, (transaction) =>
    transaction.noteRefusedCredentials({ 'principal token is not valid': 3 }),
  );
  const told = (await boss(`${base}/domains/credentials/changes`)).body as { items: { action: string }[] };
  t.deepEqual(
    told.items.map(({ action }) => action),
    ['create'],
  );
  t.regex((await operator(`${base}/changes`)).text, /refuse-credentials/);
});
