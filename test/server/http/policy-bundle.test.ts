import { createPublicKey, verify } from 'node:crypto';
import { issuedSkew, staticKeys, verifyBundle } from '@signet/policy-engine/bundle';
import { parseTimestamp, systemClock, toDate } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import type { JwkList, JwsPolicyData, SignedPolicyData } from '@signet/policy-engine/wire';
import { issuedAt } from '@signet/server/bundles/issue-grid';
import { postPolicyBundleRoute } from '@signet/server/http/routes/policy-bundle';
import type { ExecutionContext } from 'ava';
import test from 'ava';
import { type FlattenedJWS, flattenedVerify, importJWK } from 'jose';
import { FakeClock } from '#support/clock';
import { domainContent } from '#support/domain-sketch';
import { isNoName } from '#support/invalid-name';
import { saveDomain } from '#support/save-domain';
import { type Answer, caller, startServer, type TestServer } from '#support/start-server';

const day = 86_400_000;
const timeOf = (text: string) => parseTimestamp(text) ?? Number.NaN;
const path = '/domain/catalog/policy/signed';
const onGrid = (now: number) => issuedAt(now, { name: parseDomainName('catalog'), policyModified: 0 }, 7 * day);
const catalog = {
  name: 'catalog',
  roles: { reader: ['media.player'] },
  policies: { readers: [['ALLOW', 'reader', 'read', 'movie'] as const] },
};

async function start(t: ExecutionContext, options: Readonly<Record<string, unknown>> = {}) {
  const clock = new FakeClock(systemClock.now());
  const server = await startServer(t, {
    clock,
    options,
    domains: [catalog, { name: 'media', services: { player: {} } }, { name: 'dark', enabled: false }],
  });
  const call = caller(t, server, await server.pki.identity('media.player'));
  const post = (body: unknown, headers: Record<string, string> = {}) =>
    call(path, { body: JSON.stringify(body), headers: { 'content-type': 'application/json', ...headers } });
  return { clock, server, call, post };
}

function payloadOf(answer: Answer): SignedPolicyData {
  return JSON.parse(Buffer.from((answer.body as JwsPolicyData).payload, 'base64url').toString());
}

async function keysOf(call: Awaited<ReturnType<typeof start>>['call']): Promise<JwkList> {
  return (await call('/oauth2/keys?rfc=true')).body as JwkList;
}

test('a bundle is the domain, verified by the engine and by another implementation', async (t) => {
  const { clock, call } = await start(t);
  const answer = await call(path);
  t.is(answer.status, 200);
  t.is(answer.headers['cache-control'], 'max-age=30');
  const keys = await keysOf(call);
  const verified = await verifyBundle(answer.text, {
    domain: parseDomainName('catalog'),
    keys: staticKeys(keys),
    now: clock.now(),
  });
  t.like(verified, { domain: 'catalog', version: 1, issued: clock.now(), expires: clock.now() + 7 * day });
  const bundleKey = keys.keys.find(({ purpose }) => purpose === 'bundle');
  if (bundleKey === undefined) return t.fail();
  const { payload, protectedHeader } = await flattenedVerify(
    answer.body as FlattenedJWS,
    await importJWK({ ...bundleKey }, 'ES256'),
  );
  t.deepEqual(protectedHeader, { kid: bundleKey.kid, alg: 'ES256', typ: 'signet-bundle+jws' });
  t.deepEqual(Object.keys(answer.body as object), ['payload', 'protected', 'signature']);
  const at = toDate(clock.now()).toISOString();
  t.deepEqual(JSON.parse(Buffer.from(payload).toString()), {
    policyData: {
      domain: 'catalog',
      policies: [
        {
          name: 'catalog:policy.readers',
          modified: at,
          version: '0',
          active: true,
          assertions: [
            {
              id: 5,
              effect: 'ALLOW',
              role: 'catalog:role.reader',
              action: 'read',
              resource: 'catalog:movie',
            },
          ],
        },
      ],
    },
    modified: at,
    issued: at,
    expires: toDate(clock.now() + 7 * day).toISOString(),
    version: 1,
    epoch: 1,
  });
});

test('the tag answers 304 until the domain, the grid or the key changes', async (t) => {
  const { clock, server, call } = await start(t);
  const first = await call(path);
  const tag = String(first.headers['etag']);
  t.is(first.headers['last-modified'], toDate(timeOf(payloadOf(first).issued)).toUTCString());
  const same = await call(path, { headers: { 'if-none-match': tag } });
  t.deepEqual([same.status, same.text, same.headers['etag']], [304, '', tag]);
  t.is(same.headers['cache-control'], 'max-age=30');
  t.is((await call(path)).text, first.text);
  clock.advance(1000);
  await server.save({ ...catalog, policies: {} });
  const changed = await call(path, { headers: { 'if-none-match': tag } });
  t.is(changed.status, 200);
  t.is(payloadOf(changed).version, 2);
  t.not(changed.headers['etag'], tag);
  clock.advance(day);
  const later = await call(path, { headers: { 'if-none-match': String(changed.headers['etag']) } });
  t.is(later.status, 200);
  t.is(payloadOf(later).version, 2);
  t.is(timeOf(payloadOf(later).issued), onGrid(clock.now()));
  t.is(timeOf(payloadOf(later).expires) - timeOf(payloadOf(later).issued), 7 * day);
});

test('who has a later issue of the same policies keeps it, as after an upgrade that moved the grid', async (t) => {
  const { clock, call } = await start(t);
  clock.advance(2 * day);
  const tag = String((await call(path)).headers['etag']);
  const [, issued = '', modified = ''] = /^W\/"1\.1\.([0-9a-z]+)-([0-9a-z]+)\./.exec(tag) ?? [];
  t.is(Number.parseInt(issued, 36), onGrid(clock.now()));
  const at = (time: number) => tag.replace(issued, time.toString(36));
  const [now, skew] = [clock.now(), issuedSkew];
  const asked: readonly (readonly [what: string, tag: string, status: number])[] = [
    ['issued a moment later', at(onGrid(now) + 1), 304],
    ['issued now', at(now), 304],
    ['issued by a clock that is ahead', at(now + skew), 304],
    ['issued in the future', at(now + skew + 1), 200],
    ['issued before', at(onGrid(now) - 1), 200],
    ['in the form of 0.1', at(now).replace('.rfc7515', '.p1363').replace('W/', ''), 304],
    ['in a form that is none', at(now).replace('.rfc7515', '.other'), 200],
    ['of another version', at(now).replace('"1.1.', '"1.2.'), 200],
    ['of another epoch', at(now).replace('"1.1.', '"2.1.'), 200],
    ['of another change', at(now).replace(modified, (Number.parseInt(modified, 36) + 1).toString(36)), 200],
    ['of another key', at(now).replace(/\.[^.]{8}\.rfc7515/, '.another-.rfc7515'), 200],
    ['written in another way', at(now).replace('"1.1.', '"1.1.0'), 200],
    ['without a time', tag.replace(`${issued}-${modified}`, ''), 200],
  ];
  for (const [what, header, status] of asked) {
    const answer = await call(path, { headers: { 'if-none-match': `"other", ${header}` } });
    t.is(answer.status, status, what);
    if (status === 304) t.is(answer.headers['etag'], header.startsWith('W/') ? header : `W/${header}`);
  }
});

test('a thousand changes of members, services, limits and descriptions leave the bundle of every host as it is', async (t) => {
  const { clock, server, call } = await start(t);
  const first = await call(path);
  const { counter } = await server.store.state();
  for (let turn = 0; turn < 10; turn += 1) {
    clock.advance(1000);
    for (let each = 0; each < 100; each += 1) {
      const n = turn * 100 + each;
      await server.store.change({ actor: 'test' }, (change) =>
        saveDomain(change, {
          ...domainContent({
            ...catalog,
            roles: { reader: ['media.player', `media.s${n}`] },
            services: { [`s${n}`]: {} },
          }),
          description: `number ${n}`,
          limits: { tokenExpirySeconds: 60 + n },
        }),
      );
    }
    await server.running.refresh();
    const answer = await call(path, { headers: { 'if-none-match': String(first.headers['etag']) } });
    t.is(answer.status, 304, `after ${turn * 100 + 100} changes`);
  }
  t.is((await server.store.state()).counter, counter + 1000);
  t.is((await call(path)).text, first.text);
});

const matching: readonly (readonly [header: string, status: number])[] = [
  ['W/TAG', 304],
  ['"x", W/TAG', 304],
  ['W/TAG,"x"', 304],
  ['TAG', 304],
  ['*', 304],
  ['"a,b", TAG', 304],
  ['', 200],
  ['"x"', 200],
  ['"TAG', 200],
  ['nonsense', 200],
];

test('whoever has the payload in the form of 0.1 keeps it, but for another form', async (t) => {
  const { call, post } = await start(t);
  const own = String((await call(path)).headers['etag']);
  const former = own.replace('W/', '').replace('.rfc7515', '.p1363');
  t.not(former, own);
  const kept = await call(path, { headers: { 'if-none-match': former } });
  t.deepEqual([kept.status, kept.headers['etag']], [304, `W/${former}`]);
  const posted = (signatureP1363Format: boolean, tag: string) =>
    post({ signatureP1363Format }, { 'if-none-match': tag });
  t.is((await posted(true, former)).status, 304);
  t.is((await posted(false, former)).status, 200);
  t.is((await posted(true, own)).status, 200);
});

test('If-None-Match is read as RFC 9110 says', async (t) => {
  const { call } = await start(t);
  // Each process signs for itself: no tag promises the same bytes.
  const [, tag = ''] = /^W\/(".+")$/.exec(String((await call(path)).headers['etag'])) ?? [];
  for (const [header, status] of matching) {
    const answer = await call(path, { headers: { 'if-none-match': header.replace('TAG', tag) } });
    t.is(answer.status, status, header);
  }
  t.is((await call(path, { headers: { 'if-none-match': tag.slice(1, -1) } })).status, 200);
});

test('POST answers the same payload in the form of Athenz, with the signature form of choice', async (t) => {
  const { clock, call, post } = await start(t);
  const get = await call(path);
  const plain = await post({});
  const { header: outer, ...jws } = plain.body as JwsPolicyData;
  const { kid } = JSON.parse(Buffer.from(jws.protected, 'base64url').toString());
  // The key id stands in both headers, as its readers want it, which RFC 7515 §7.2.1 forbids.
  t.deepEqual(outer, { kid });
  t.is(Buffer.from(jws.protected, 'base64url').toString(), JSON.stringify({ kid, alg: 'ES256' }));
  t.is(jws.payload, (get.body as JwsPolicyData).payload);
  t.not(plain.headers['etag'], get.headers['etag']);
  for (const body of [{ policyVersions: null }, { policyVersions: {}, signatureP1363Format: true }, { more: 1 }]) {
    const answer = await post(body);
    t.deepEqual([answer.status, answer.text, answer.headers['etag']], [200, plain.text, plain.headers['etag']]);
  }
  const options = { domain: parseDomainName('catalog'), keys: staticKeys(await keysOf(call)), now: clock.now() };
  t.is((await verifyBundle(plain.text, options)).digest, (await verifyBundle(get.text, options)).digest);
  const der = await post({ signatureP1363Format: false });
  t.is((der.body as JwsPolicyData).payload, (get.body as JwsPolicyData).payload);
  t.not(der.headers['etag'], plain.headers['etag']);
  const { keys } = await keysOf(call);
  const { protected: header, payload, signature } = der.body as JwsPolicyData;
  const jwk = keys.find(({ purpose }) => purpose === 'bundle');
  if (jwk === undefined) return t.fail();
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
  t.true(verify('sha256', Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url')));
  t.is((await post({}, { 'if-none-match': String(plain.headers['etag']) })).status, 304);
  t.is((await post({}, { 'if-none-match': String(get.headers['etag']) })).status, 200);
});

const refusedBodies: readonly (readonly [name: string, body: string, message: string])[] = [
  ['empty', '', 'the body is not JSON: no value at character 0'],
  ['cut', '{', 'the body is not JSON: no string at character 1'],
  [
    'a member twice',
    '{"policyVersions":{},"policyVersions":{}}',
    'the body is not JSON: a member twice at character 40',
  ],
  ['33 levels', '['.repeat(33), 'the body is not JSON: more levels than 32 at character 33'],
  ['no text', '{"policyVersions":"\uFFFD"}', 'the body is not UTF-8'],
  ['a list', '[]', '`SignedPolicyRequest` is not valid'],
  ['null', 'null', '`SignedPolicyRequest` is not valid'],
  ['a wrong flag', '{"signatureP1363Format":"true"}', '`signatureP1363Format` is not valid'],
  ['wrong versions', '{"policyVersions":{"readers":1}}', '`policyVersions` is not valid'],
  ['a bad name', '{"policyVersions":{"re ders":"0"}}', `policyVersions ${isNoName('PolicyName')}`],
  ['a bad version', '{"policyVersions":{"readers":"../0"}}', 'policyVersions has a version that is not valid'],
  [
    'a name twice',
    '{"policyVersions":{"readers":"0","catalog:policy.readers":"1"}}',
    'policyVersions names a policy twice',
  ],
];

test('POST refuses bodies that are not a request', async (t) => {
  const { call } = await start(t);
  for (const [name, body, message] of refusedBodies) {
    const answer = await call(path, { body, headers: { 'content-type': 'application/json' } });
    t.deepEqual([answer.status, answer.body], [400, { code: 400, message }], name);
  }
  t.is((await call(path, { body: '{}', headers: { 'content-type': 'text/plain' } })).status, 415);
});

test('a policy comes in the version asked for', async (t) => {
  const { server, post } = await start(t);
  await saveVersions(server);
  const names = async (body: unknown) => {
    const answer = await post(body);
    return payloadOf(answer).policyData.policies.map(({ name, version, active }) => `${name} ${version} ${active}`);
  };
  t.deepEqual(await names({}), ['catalog:policy.readers 0 true']);
  t.deepEqual(await names({ policyVersions: { readers: '1' } }), ['catalog:policy.readers 1 false']);
  t.deepEqual(await names({ policyVersions: { 'Catalog:policy.READERS': '1' } }), ['catalog:policy.readers 1 false']);
  t.deepEqual(await names({ policyVersions: { readers: '9' } }), []);
  const tags = await Promise.all([post({}), post({ policyVersions: { readers: '1' } })]);
  t.deepEqual(
    tags.map((answer) => payloadOf(answer).policyVersions),
    [undefined, { readers: '1' }],
  );
  t.not(tags[0].headers['etag'], tags[1].headers['etag']);
});

async function saveVersions(server: TestServer): Promise<void> {
  await server.store.change({ actor: 'test' }, async (transaction) => {
    const domain = await transaction.domain(parseDomainName('catalog'));
    const [policy] = domain?.policies ?? [];
    if (domain === undefined || policy === undefined) throw new Error('no policy');
    await saveDomain(transaction, { ...domain, policies: [policy, { ...policy, version: '1', active: false }] });
  });
  await server.running.refresh();
}

test('unknown and disabled domains are 404, names 400, other methods 405', async (t) => {
  const { call } = await start(t);
  for (const domain of ['nowhere', 'dark']) {
    const answer = await call(`/domain/${domain}/policy/signed`);
    t.deepEqual([answer.status, answer.body], [404, { code: 404, message: `domain \`${domain}\` does not exist` }]);
    t.is(answer.headers['cache-control'], 'no-store');
    t.is(answer.headers['etag'], undefined);
  }
  t.is((await call('/domain/ca..t/policy/signed')).status, 400);
  const answer = await call(path, { method: 'DELETE' });
  t.deepEqual([answer.status, answer.headers['allow']], [405, 'GET, HEAD, POST']);
});

test('profile athenz signs in DER unless asked otherwise', async (t) => {
  const { post } = await start(t, { profile: 'athenz' });
  const length = async (body: unknown) =>
    Buffer.from(((await post(body)).body as JwsPolicyData).signature, 'base64url').length;
  t.is(await length({ signatureP1363Format: true }), 64);
  t.not(await length({}), 64);
});

test('profile athenz: the tag of the POST form is the time of the last change, and moves with each of them', async (t) => {
  const { server, call, post } = await start(t, { profile: 'athenz' });
  const first = await post({ policyVersions: null, signatureP1363Format: true }, { 'if-none-match': '' });
  const { modified } = payloadOf(first);
  t.deepEqual([first.status, first.headers['etag']], [200, `"${modified}"`]);
  const again = await post({}, { 'if-none-match': `"${modified}"` });
  t.deepEqual([again.status, again.text, again.headers['etag']], [304, '', `"${modified}"`]);
  // The clock stands still: all three within one millisecond.
  const seen = new Set([modified]);
  for (const action of ['read', 'write', 'list']) {
    await server.save({ ...catalog, policies: { readers: [['ALLOW', 'reader', action, 'series']] } });
    const changed = await post({}, { 'if-none-match': [...seen].map((each) => `"${each}"`).join() });
    t.is(changed.status, 200);
    seen.add(payloadOf(changed).modified);
    t.is(changed.headers['etag'], `"${payloadOf(changed).modified}"`);
  }
  t.is(seen.size, 4);
  const chosen = await post({ policyVersions: { readers: '0' } }, { 'if-none-match': '*' });
  t.deepEqual([chosen.status, chosen.headers['etag']], [200, undefined]);
  t.regex(String((await call(path)).headers['etag']), /^W\/"1\.\d+\./);
});

test('profile athenz refuses a domain with conditions where its readers ignore them, on every way to it', async (t) => {
  const { call, post, server } = await start(t, { profile: 'athenz' });
  const plain = await post({});
  t.is(plain.status, 200);
  const signed = await call(path);
  t.is(signed.status, 200);
  const conditions = { conditionsList: [{ conditionsMap: { instances: { operator: 'EQUALS', value: 'h1' } } }] };
  await server.save({ ...catalog, policies: { readers: [['ALLOW', 'reader', 'read', 'movie', conditions]] } });
  const refused = {
    code: 409,
    message: 'an assertion of the domain has conditions, which readers of this form ignore',
  };
  for (const [body, tag] of [
    [{}, ''],
    [{ signatureP1363Format: true }, ''],
    [{ policyVersions: { readers: '0' } }, ''],
    [{}, '*'],
  ] as const) {
    const answer = await post(body, { 'if-none-match': tag });
    t.deepEqual([answer.status, answer.body, answer.headers['etag']], [409, refused, undefined]);
  }
  const old = await call('/domain/catalog/signed_policy_data');
  t.is(old.status, 409);
  // The updater of Signet, whose engines evaluate conditions, asks so.
  t.is((await call(path)).status, 200);
  await server.save(catalog);
  t.is((await post({})).status, 200);
});

test('a domain that gets conditions while its bundle waits to be signed is refused as well', async (t) => {
  const waiting = {
    entityTag: '"t"',
    hasConditions: () => false,
    issue: () => Promise.resolve({ entityTag: '"u"', json: '{}', hasConditions: () => true }),
  };
  const deps = {
    snapshot: () => ({ domain: () => ({}) }),
    publisher: { publish: () => waiting },
    profile: { bundleSignature: 'der', bundleConditionsIgnored: true, bundleTag: 'modified' },
  };
  const ctx = {
    state: { principal: {} },
    params: { domainName: 'catalog' },
    req: { headers: {} },
    request: { rawBody: '{}' },
    set: () => undefined,
  };
  const post = postPolicyBundleRoute(deps as never);
  await t.throwsAsync(() => Promise.resolve(post(ctx as never, () => Promise.resolve())), { name: 'ConflictError' });
});

test('profile signet gives bundles with conditions to everybody who asks', async (t) => {
  const { post, server } = await start(t);
  const conditions = { conditionsList: [{ conditionsMap: { instances: { operator: 'NOT_EQUALS', value: 'h1' } } }] };
  await server.save({ ...catalog, policies: { readers: [['ALLOW', 'reader', 'read', 'movie', conditions]] } });
  t.is((await post({})).status, 200);
});

test('a clock that is set back makes no bundle that was issued before the last one', async (t) => {
  const { clock, server, call } = await start(t);
  // Not the next point of the grid: minutes before it, the clock would be set back to before the server's certificates.
  const edge = onGrid(clock.now()) + 2 * day;
  const issued = async () => timeOf(payloadOf(await call(path)).issued ?? '');
  const change = (action: string) =>
    server.save({ ...catalog, policies: { readers: [['ALLOW', 'reader', action, 'movie']] } });
  clock.set(edge + 500);
  t.is(await issued(), edge);
  clock.advance(-1000);
  t.is(await issued(), edge, 'over a point of the grid');
  clock.advance(2000);
  await change('list');
  const last = clock.now();
  t.is(await issued(), last);
  clock.advance(-1000);
  await change('write');
  t.is(await issued(), last + 1, 'over a change');
  clock.advance(-300_000);
  await change('read');
  const moved = clock.now();
  t.is(await issued(), moved, 'further than hosts look ahead, the clock was wrong before');
});
