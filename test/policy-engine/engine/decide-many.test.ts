import { setImmediate as nextTurn } from 'node:timers/promises';
import { type KeySource, PolicyEngine, type PolicyInput, staticKeys } from '@signet/policy-engine';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';

const policies: PolicyInput[] = [
  {
    name: 'catalog:policy.p',
    assertions: [
      { role: 'reader', action: 'read', resource: 'catalog:movie.*' },
      { role: 'reader', action: 'read', resource: 'catalog:movie.secret', effect: 'DENY' },
    ],
  },
];
const domains = { catalog: policies };
const resources = ['catalog:movie.2', 'catalog:movie.secret', 'catalog:series', 'catalog:movie.1', 'catalog:movie.2'];
const allowed = ['catalog:movie.2', 'catalog:movie.1', 'catalog:movie.2'];
const authority = await createTestAuthority();
const certificate = authority.certificate('media.player');
const token = await authority.token({ domain: 'catalog', roles: ['reader'], certificate });

test('many answers are those of single questions, in their order', async (t) => {
  const engine = authority.engine(domains);
  const requests = [
    ...resources.map((resource) => ({ token, action: 'read', resource, certificate })),
    { token: `Bearer ${token}`, action: 'write', resource: 'catalog:movie.1', certificate },
    { token: [token, token], action: 'read', resource: 'catalog:movie.1', certificate },
    { token, action: 'read', resource: 'catalog:movie.1' },
    { token: 'nonsense', action: 'read', resource: 'catalog:movie.1', certificate },
    { token, action: '', resource: 'catalog:movie.1', certificate },
  ];
  const single = await Promise.all(requests.map((request) => engine.decide(request)));
  const many = await engine.decideMany(requests);
  t.deepEqual(many, single);
  t.deepEqual(
    many.map(({ status }) => status),
    [
      ...['ALLOW', 'DENY', 'DENY_NO_MATCH', 'ALLOW', 'ALLOW', 'DENY_NO_MATCH', 'ALLOW'],
      ...['DENY_CERT_HASH_MISMATCH', 'DENY_TOKEN_INVALID', 'DENY_INVALID_PARAMETERS'],
    ] as never,
  );
});

test('filter keeps what is allowed, in its order', async (t) => {
  const engine = authority.engine(domains);
  t.deepEqual(await engine.filter({ token, action: 'read', resources, certificate }), allowed);
  t.deepEqual(await engine.filter({ token, action: 'read', resources }), [], 'not its holder');
  t.deepEqual(await engine.filterRoles({ domain: 'catalog', roles: ['reader'], action: 'read', resources }), allowed);
  t.deepEqual(await engine.filterRoles({ domain: 'catalog', roles: [], action: 'read', resources }), []);
});

test('a list that is changed meanwhile is answered as it was', async (t) => {
  const engine = authority.engine(domains);
  const changing = [...resources];
  const answer = engine.filter({ token, action: 'read', resources: changing, certificate });
  changing.fill('catalog:movie.secret');
  t.deepEqual(await answer, allowed);
});

test('a token is verified once, also where none is kept and also one that is refused', async (t) => {
  let verifications = 0;
  const keys = staticKeys(authority.keys);
  const counting: KeySource = {
    ...keys,
    find: (...wanted) => {
      verifications += 1;
      return keys.find(...wanted);
    },
  };
  const engine = authority.engine(domains, { keys: counting, maxCachedTokens: 0 });
  t.deepEqual(await engine.filter({ token, action: 'read', resources, certificate }), allowed);
  t.is(verifications, 1);
  const forged = `${token.slice(0, -8)}AAAAAAAA`;
  t.deepEqual(await engine.filter({ token: forged, action: 'read', resources, certificate }), []);
  t.is(verifications, 2);
});

test('every decision of a call is counted and recorded', async (t) => {
  const told: string[] = [];
  const written: unknown[] = [];
  const engine = authority.engine(domains, {
    meter: { decided: (status) => void told.push(status) },
    records: { write: (records) => void written.push(...records) },
  });
  await engine.filter({ token, action: 'read', resources, certificate });
  await engine.close();
  t.deepEqual(told, ['ALLOW', 'DENY', 'DENY_NO_MATCH', 'ALLOW', 'ALLOW']);
  t.is(written.length, 5);
});

test('others have their turn while a long list is decided', async (t) => {
  const engine = PolicyEngine.fromDomains(domains);
  const long = Array.from({ length: 10_000 }, (_, index) => `catalog:movie.${'x'.repeat(500)}${index}`);
  let isDone = false;
  const answer = engine.filterRoles({ domain: 'catalog', roles: ['reader'], action: 'read', resources: long });
  void answer.then(() => {
    isDone = true;
  });
  await nextTurn();
  t.false(isDone);
  t.is((await answer).length, long.length);
});

test('too many are denied, each, and told', async (t) => {
  const told: string[] = [];
  const engine = PolicyEngine.fromDomains(domains, { onError: (_, place) => void told.push(place) });
  const request = { token, action: 'read', resource: 'catalog:movie.1' };
  const requests = Array.from({ length: 10_001 }, () => request);
  const many = await engine.decideMany(requests);
  t.is(many.length, requests.length);
  t.true(many.every(({ status }) => status === 'DENY_INVALID_PARAMETERS'));
  const long = requests.map(({ resource }) => resource);
  t.deepEqual(await engine.filter({ token, action: 'read', resources: long }), []);
  t.deepEqual(await engine.filterRoles({ domain: 'catalog', roles: ['reader'], action: 'read', resources: long }), []);
  t.deepEqual(told, ['decideMany', 'filter', 'filterRoles']);
});

test('callers without types get no answer that grants, and no error', async (t) => {
  const engine = PolicyEngine.fromDomains(domains);
  for (const value of [undefined, null, 5, {}]) t.deepEqual(await engine.decideMany(value as never), []);
  t.deepEqual(await engine.decideMany([null] as never), [{ status: 'DENY_INVALID_PARAMETERS' }]);
  for (const value of [undefined, null, 5, {}, { resources: 'catalog:movie.1' }, { resources: [null, 7] }]) {
    t.deepEqual(await engine.filter(value as never), []);
    t.deepEqual(await engine.filterRoles(value as never), []);
  }
});
