import { generateKeyPairSync, sign } from 'node:crypto';
import { formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { reservedNames } from '@signet/server/management/name-safeguards';
import { StoreAfter } from '@signet/server/management/store-after';
import { diffDomains } from '@signet/server/store/diff-domains';
import test from 'ava';
import { FakeClock } from '#support/clock';
import type { DomainSketch } from '#support/domain-sketch';
import { field, instanceWorld, json, keyPem, register } from '#support/instance-world';
import { send } from '#support/management-world';
import { createPki } from '#support/pki';
import { ecPair, requestPem } from '#support/requests';
import { spendJoinToken } from '#support/spend-join-token';
import type { Caller, CallerOptions } from '#support/start-server';

/* A name that is deleted and used again: whoever has it next is not who had it before. Over real TLS. */

const base = '^/management/v1/domains';
const dayMs = 86_400_000;
const signing = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const publicKeyPem = signing.publicKey.export({ type: 'spki', format: 'pem' }).toString();

const domains: readonly DomainSketch[] = [
  {
    name: 'sys.auth',
    services: { server: {}, operator: {} },
    roles: { admin: ['sys.auth.operator'], providers: ['sys.auth.server'] },
    policies: {
      administration: [
        ['ALLOW', 'admin', '*', '*'],
        ['ALLOW', 'providers', 'launch', 'instance'],
      ],
    },
  },
  {
    name: 'media',
    services: { player: { 0: publicKeyPem }, admin: {}, boss: {} },
    roles: { admin: ['media.boss'], launchers: ['sys.auth.server'], admins: ['media.admin'] },
    policies: {
      instances: [
        ['ALLOW', 'launchers', 'launch', 'service.player'],
        ['ALLOW', 'admins', 'update', 'service.player'],
      ],
    },
  },
  {
    name: 'catalog',
    services: { api: {} },
    roles: { reader: ['media.player'], admin: ['sys.auth.operator'] },
    groups: { fans: ['media.player', 'media.boss'] },
  },
];

async function world(t: Parameters<typeof instanceWorld>[0]) {
  const clock = new FakeClock(Math.floor(systemClock.now() / 1000) * 1000);
  const pki = await createPki(clock);
  const made = await instanceWorld(t, { domains, clock, pki });
  const [operator, boss] = [await made.identity('sys.auth.operator'), await made.identity('media.boss')];
  return { ...made, clock, operator, boss };
}

function principalToken(clock: FakeClock): string {
  const now = Math.floor(clock.now() / 1000);
  const text = `v=S1;d=media;n=player;k=0;t=${now};e=${now + 86_400}`;
  const signature = sign('sha256', Buffer.from(text), signing.privateKey).toString('base64');
  return `${text};s=${signature.replaceAll('+', '.').replaceAll('/', '_').replaceAll('=', '-')}`;
}

const works = async (caller: Caller) => (await caller('/oauth2/keys')).status;
const withToken = async (operator: Caller, token: string) =>
  (await operator('/access/read/catalog:movie', { headers: { 'svc-principal-auth': token } })).status;

test('a service that is deleted takes everything with it, and a successor inherits nothing', async (t) => {
  const { as, identity, clock, operator, boss, store, pki, token } = await world(t);
  const offline = await identity('media.player');
  const instance = await register({ as, token }, 'i-1');
  const unspent = await token('i-2');
  const rolePair = ecPair();
  const csr = requestPem(rolePair, { commonNames: ['catalog:role.reader'] });
  const { body } = await offline('/domain/catalog/role/reader/token', json({ csr }));
  const role: CallerOptions = { certificate: String(field(body, 'token')), key: keyPem(rolePair) };
  const old = principalToken(clock);
  const holders = [offline, as(instance), as(role)];
  for (const holder of holders) t.is(await works(holder), 200);
  t.is(await withToken(operator, old), 200);

  const player = `${base}/media/services/player`;
  for (const query of ['', '?dryRun=true']) {
    const refused = await boss(`${player}${query}`, send('DELETE'));
    t.deepEqual(refused.body, {
      code: 409,
      message:
        'service `media.player` is a member of 2 roles or groups that you may not look at: ' +
        'remove it there, or with it by removeMemberships=true (--remove-memberships)',
    });
  }
  t.is(
    field((await operator(player, send('DELETE'))).body, 'message'),
    'service `media.player` is a member of `catalog:group.fans`, `catalog:role.reader`: ' +
      'remove it there, or with it by removeMemberships=true (--remove-memberships)',
    'who may look there is told where',
  );
  t.is((await boss(`${player}?removeMemberships=true`, send('DELETE'))).status, 204);
  for (const holder of holders) t.is(await works(holder), 401);
  t.is(await withToken(operator, old), 401);
  t.deepEqual(await store.instances.list({ domain: parseDomainName('media'), limit: 10 }), []);
  const catalog = await store.domain(parseDomainName('catalog'));
  t.deepEqual(catalog?.roles.find(({ name }) => name === 'reader')?.members, []);
  t.deepEqual(
    catalog?.groups[0]?.members.map(({ name }) => name),
    ['media.boss'],
  );
  const [ended] = await store.audit({ subject: 'media:service.player', limit: 1 });
  t.like(ended, { action: 'end-service', actor: 'media.boss' });
  t.deepEqual(JSON.parse(ended?.after ?? ''), { certificates: 2, instances: 1, joinTokens: 2 });

  const reserved = await boss(player, send('PUT', {}));
  t.is(reserved.status, 409);
  const [then, end] = [clock.now(), clock.now() + 30 * dayMs].map(formatTimestamp);
  t.is(
    field(reserved.body, 'message'),
    `\`media.player\` was deleted at ${then}, and its name is reserved until ${end}: ` +
      'an operator may use it before with reuseName=true (--reuse-name)',
  );
  t.is((await boss(`${player}?reuseName=true`, send('PUT', {}))).status, 403, 'not for who administers the domain');
  clock.advance(1000);
  t.is((await operator(`${player}?reuseName=true`, send('PUT', {}))).status, 201);
  await operator(`${player}/keys/0`, send('PUT', { pem: publicKeyPem }));
  const [reused] = await store.audit({ subject: 'media:service.player', limit: 1 });
  t.like(reused, { action: 'reuse-name', actor: 'sys.auth.operator' });

  for (const holder of [...holders, as(await pki.odd({ subject: 'CN=media.player' }))]) {
    t.is(await works(holder), 401, 'a certificate of before, recorded or not');
  }
  t.is(await withToken(operator, old), 401);
  const late = { provider: 'sys.auth.server', domain: 'media', service: 'player', attestationData: unspent };
  const request = requestPem(ecPair(), { commonNames: ['media.player'] });
  t.is((await as()('/instance', json({ ...late, csr: request, x509CertInstanceId: 'i-2' }))).status, 403);

  t.is(await works(await identity('media.player')), 200, 'a certificate of now');
  clock.advance(1000);
  t.is(await withToken(operator, principalToken(clock)), 200);
  t.is((await register({ as, token }, 'i-1')).answer.status, 201);
});

test('a name is reserved for exactly the longest life of a credential', async (t) => {
  const { clock, boss, store } = await world(t);
  const service = `${base}/media/services/brief`;
  t.is((await boss(service, send('PUT', {}))).status, 201);
  const after = await store.domain(parseDomainName('media'));
  if (after === undefined) throw new Error('there is no domain `media`');
  t.is((await boss(service, send('DELETE'))).status, 204);
  const before = await store.domain(parseDomainName('media'));
  const change = diffDomains(before, after);
  const faultsAt = (now: number, reservedMs?: number) =>
    store.view(async (reader) => {
      const facts = { allowWildcard: false, sees: () => true, after: new StoreAfter(reader, [change]) };
      return await reservedNames(change, { ...facts, now, reader, reservedMs });
    });
  t.is((await faultsAt(clock.now() + 30 * dayMs - 1)).length, 1);
  t.is((await faultsAt(clock.now() + 30 * dayMs)).length, 0);
  t.is((await faultsAt(clock.now() + 90 * dayMs - 1, 90 * dayMs)).length, 1);
  t.is((await faultsAt(clock.now() + 90 * dayMs, 90 * dayMs)).length, 0);
});

test('a domain that is deleted takes its services, its roles and its name with it', async (t) => {
  const { as, identity, clock, operator, boss, store } = await world(t);
  const domain = `${base}/brief`;
  t.is((await operator(base, send('POST', { domain: 'brief', admins: ['media.boss'] }))).status, 201);
  t.is((await boss(`${domain}/services/api`, send('PUT', {}))).status, 201);
  t.is((await boss(`${domain}/roles/reader`, send('PUT', { members: ['media.player'] }))).status, 201);
  t.is((await operator(`${base}/catalog/roles/reader/members/brief.api`, send('PUT', {}))).status, 201);
  t.is((await operator(`${base}/catalog/roles/lent`, send('PUT', { trust: 'brief' }))).status, 201);
  const rolePair = ecPair();
  const csr = requestPem(rolePair, { commonNames: ['brief:role.reader'] });
  const player = await identity('media.player');
  const { body } = await player('/domain/brief/role/reader/token', json({ csr }));
  const holders = [
    await identity('brief.api'),
    as({ certificate: String(field(body, 'token')), key: keyPem(rolePair) }),
  ];
  for (const holder of holders) t.is(await works(holder), 200);

  await operator(domain, send('PUT', { enabled: false }));
  const refused = await operator(domain, send('DELETE'));
  t.is(refused.status, 409);
  t.regex(String(field(refused.body, 'message')), /`catalog:role\.reader`.*removeMemberships=true/);
  t.is((await operator(`${domain}?removeMemberships=true`, send('DELETE'))).status, 204);
  const catalog = await store.domain(parseDomainName('catalog'));
  t.deepEqual(
    catalog?.roles.map(({ name, trust, members }) => [name, trust, members.map((member) => member.name)]),
    [
      ['admin', undefined, ['sys.auth.operator']],
      ['lent', undefined, []],
      ['reader', undefined, ['media.player']],
    ],
  );

  const again = send('POST', { domain: 'brief', admins: ['media.boss'] });
  t.is((await operator(base, again)).status, 409);
  clock.advance(1000);
  t.is((await operator(`${base}?reuseName=true`, again)).status, 201);
  t.is((await operator(`${domain}/services/api?reuseName=true`, send('PUT', {}))).status, 201);
  t.is((await operator(`${domain}/roles/reader`, send('PUT', { members: ['media.player'] }))).status, 201);
  for (const holder of holders) t.is(await works(holder), 401);
});

test('a domain that is deleted leaves no member that a successor could be, be it a pattern or nobody yet', async (t) => {
  const { operator, boss, store } = await world(t);
  t.is((await operator(base, send('POST', { domain: 'brief', admins: ['media.boss'] }))).status, 201);
  t.is((await operator(base, send('POST', { domain: 'brief.er', admins: ['media.boss'] }))).status, 201);
  const members = ['brief.*', 'brief.a*', 'brief.ghost', 'brief.er.api', 'brief.er.*', 'briefs.api'];
  for (const member of members) {
    const path = `${base}/catalog/roles/reader/members/${member}?allowWildcard=true`;
    t.is((await operator(path, send('PUT', {}))).status, 201, member);
  }
  t.is((await boss(`${base}/media/groups/mixed`, send('PUT', { members: ['brief.ghost'] }))).status, 201);
  await operator(`${base}/brief`, send('PUT', { enabled: false }));
  const refused = await operator(`${base}/brief`, send('DELETE'));
  t.is(refused.status, 409);
  t.regex(String(field(refused.body, 'message')), /`catalog:role\.reader`.*`media:group\.mixed`/);
  t.is((await operator(`${base}/brief?removeMemberships=true`, send('DELETE'))).status, 204);
  const catalog = await store.domain(parseDomainName('catalog'));
  t.deepEqual(
    catalog?.roles.find(({ name }) => name === 'reader')?.members.map(({ name }) => name),
    ['brief.er.*', 'brief.er.api', 'briefs.api', 'media.player'],
  );
  t.deepEqual((await store.domain(parseDomainName('media')))?.groups[0]?.members, []);
});

test('a provider that is deleted takes the instances it vouched for with it, wherever they are', async (t) => {
  const { operator, store, clock } = await world(t);
  const at = Math.floor(clock.now() / 1000);
  const holder = parsePrincipalName('media.player');
  const [provider, other] = ['catalog.api', 'catalog.admin'].map((name) => parsePrincipalName(name));
  const tenant = { domain: parseDomainName('media'), service: parseServiceName('player') };
  const keys = [provider, other].map((name) => ({
    ...tenant,
    provider: name ?? holder,
    instanceId: parsePathElement('i-1'),
  }));
  for (const [index, key] of keys.entries()) {
    const [serial, fingerprint] = [`0${index}`, 'f'];
    const row = { serial, issuer: 'i', kind: 'instance', subject: holder, holder, ...key } as const;
    await store.certificates.intend({ ...row, notBefore: at, notAfter: at + 99 }, at);
    await store.instances.register(key, { serial, fingerprint, notAfter: at + 99 }, { clientOnly: false, at });
    await store.instances.addJoinToken(serial, { ...key, expires: at + 99, createdBy: holder });
  }
  t.is((await operator(`${base}/catalog/services/api`, send('DELETE'))).status, 204);
  for (const [index, key] of keys.entries()) {
    const isThere = index === 1;
    t.is((await store.instances.find(key)) !== undefined, isThere);
    t.is((await store.certificates.find(`0${index}`))?.revoked === undefined, isThere);
    t.is(await spendJoinToken(store, `0${index}`, key, at), isThere);
  }
});

test('a role that is deleted takes its certificates with it', async (t) => {
  const { as, identity, operator } = await world(t);
  const rolePair = ecPair();
  const csr = requestPem(rolePair, { commonNames: ['catalog:role.reader'] });
  const player = await identity('media.player');
  const { body } = await player('/domain/catalog/role/reader/token', json({ csr }));
  const holder = as({ certificate: String(field(body, 'token')), key: keyPem(rolePair) });
  t.is(await works(holder), 200);
  t.is((await operator(`${base}/catalog/roles/reader`, send('DELETE'))).status, 204);
  t.is((await operator(`${base}/catalog/roles/reader`, send('PUT', { members: ['media.player'] }))).status, 201);
  t.is(await works(holder), 401);
});

test('two domains with one form in DNS: the second is refused, also while the first is only reserved', async (t) => {
  const { operator, store } = await world(t);
  const make = (domain: string, query = '') =>
    operator(`${base}${query}`, send('POST', { domain, admins: ['media.boss'] }));
  t.is((await make('pay.core')).status, 201);
  for (const query of ['', '?dryRun=true', '?reuseName=true']) {
    t.deepEqual((await make('pay-core', query)).body, {
      code: 409,
      message: 'domain `pay-core` would have the DNS name `pay-core`, which domain `pay.core` has',
    });
  }
  await operator(`${base}/pay.core`, send('PUT', { enabled: false }));
  t.is((await operator(`${base}/pay.core`, send('DELETE'))).status, 204);
  t.is((await make('pay-core')).status, 409, 'certificates with its names may still be out there');
  t.is((await make('pay-core', '?reuseName=true')).status, 201);
  t.is((await store.domain(parseDomainName('pay-core')))?.dnsForm, 'pay-core');
  t.is((await make('pay.core', '?reuseName=true')).status, 409);
});
