import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PolicyEngine } from '@signet/policy-engine';
import test, { type ExecutionContext } from 'ava';
import {
  type AthenzBundle,
  type AthenzKey,
  athenzBundle,
  athenzKey,
  athenzPayload,
  readerMayRead,
} from '#support/athenz';
import { answer, type Respond } from '../client/support/tls-server.ts';
import { kinds, updaterWorld } from './support/world.ts';

/*
 * The updater against a server that answers as a genuine Athenz server does: below `/zts/v1`, bundles by POST only, tags of the time of
 * change, and no metadata document.
 */

const day = 86_400_000;
const [ec, rsa] = [athenzKey('ES256', 'zts.0'), athenzKey('RS256', 'zts.rsa')];

/** Content that the server signs at the moment, and its form. */
interface Served {
  spec: AthenzBundle;
  key: AthenzKey;
  /** True if it honours the requested form of signatures; older servers do not know the member. */
  knowsP1363: boolean;
}

async function athenzWorld(t: ExecutionContext) {
  const world = await updaterWorld(t);
  const served: Served = { spec: {}, key: ec, knowsP1363: true };
  const ofSignet = world.server.respond;
  const ofAthenz: Respond = ({ method, url, headers, body }, response) => {
    if (`${method} ${url}` === 'GET /zts/v1/oauth2/keys?rfc=true') {
      return answer(response, 200, { keys: [ec.jwk, rsa.jwk, { kty: 'OKP', kid: 'zts.odd' }] });
    }
    if (`${method} ${url}` !== 'POST /zts/v1/domain/catalog/policy/signed') {
      return answer(response, 404, { code: 404, message: 'not found' });
    }
    const etag = `"${JSON.parse(athenzPayload(served.spec)).modified}"`;
    if (headers['if-none-match'] === etag) return void response.writeHead(304, { etag }).end();
    const p1363 = served.knowsP1363 && JSON.parse(body).signatureP1363Format === true;
    return void response.writeHead(200, { etag }).end(athenzBundle(served.key, served.spec, p1363));
  };
  world.server.respond = ofAthenz;
  const change = { athenzBundles: true, baseUrl: world.server.baseUrl.replace(/\/v1$/, '/zts/v1') };
  const requests = () => world.server.requests.filter(({ url }) => url.includes('/policy/signed'));
  return {
    ...world,
    served,
    requests,
    ofSignet,
    ofAthenz,
    run: async (more = {}) => world.runOnce(undefined, { ...change, ...more }),
  };
}

const forms: [note: string, change: Partial<Served>][] = [
  ['ES256', {}],
  ['ES256 in DER', { knowsP1363: false }],
  ['RS256', { key: rsa }],
];
for (const [note, change] of forms) {
  test(`policy of an Athenz server is fetched, kept as it is served, and decides: ${note}`, async (t) => {
    const { served, requests, policyDir, clock, read, run } = await athenzWorld(t);
    Object.assign(served, change);
    const report = await run();
    t.deepEqual([report.exitStatus, kinds(report)], [0, { catalog: 'updated' }]);
    const [{ method, headers, body } = { method: '', headers: {}, body: '' }] = requests();
    t.deepEqual(
      [method, headers['content-type'], headers['if-none-match'], body],
      ['POST', 'application/json', undefined, '{"policyVersions":null,"signatureP1363Format":true}'],
    );
    const file = JSON.parse(read('catalog.pol') ?? '');
    t.deepEqual(Object.keys(file), ['payload', 'protected', 'header', 'signature']);
    t.is(file.payload, Buffer.from(athenzPayload()).toString('base64url'));

    const opened = { policyDir, clock, issuers: ['zts.example'], athenzBundles: true };
    const engine = await PolicyEngine.open(opened);
    t.teardown(() => engine.close());
    const may = (action: string) =>
      engine.decideRoles({ domain: 'catalog', roles: ['reader'], action, resource: 'catalog:movie' }).status;
    t.deepEqual([may('read'), may('write')], ['ALLOW', 'DENY_NO_MATCH']);
    const { effect: _, ...write } = { ...readerMayRead, action: 'write' };
    served.spec = { assertions: [write], modified: '2025-12-31T23:00:01.000Z' };
    t.deepEqual(kinds(await run()), { catalog: 'updated' });
    await engine.refresh();
    t.deepEqual([may('read'), may('write')], ['DENY_NO_MATCH', 'ALLOW']);
  });
}

test('the time of change is the tag, also of a file that zpu wrote, until the bundle is due', async (t) => {
  const { policyDir, requests, run, clock, served } = await athenzWorld(t);
  const expires = '2026-01-08T00:00:00.000Z';
  // The domain changed years ago: its bundles are as fresh as any.
  served.spec = { modified: '2023-05-05T05:05:05.500Z', expires };
  t.deepEqual(kinds(await run()), { catalog: 'updated' });
  writeFileSync(join(policyDir, 'catalog.pol'), athenzBundle(ec, served.spec, false));
  t.deepEqual(kinds(await run()), { catalog: 'unchanged' });
  t.is(requests().at(-1)?.headers['if-none-match'], '"2023-05-05T05:05:05.500Z"');
  clock.advance(5.25 * day - 1);
  t.deepEqual(kinds(await run()), { catalog: 'unchanged' });
  t.not(requests().at(-1)?.headers['if-none-match'], undefined);
  clock.advance(1);
  served.spec = { ...served.spec, expires: '2026-01-13T06:00:00.000Z' };
  const report = await run();
  t.deepEqual(kinds(report), { catalog: 'updated' });
  t.is(requests().at(-1)?.headers['if-none-match'], undefined);
  t.like(report.status.domains['catalog'], { epoch: 0, expires: '2026-01-13T06:00:00.000Z' });
});

test('what may not follow is refused and the last good bundle stays', async (t) => {
  const { served, read, run } = await athenzWorld(t);
  const write = [{ ...readerMayRead, action: 'write' }];
  await run();
  const good = read('catalog.pol');
  for (const [spec, reason] of [
    [{ assertions: write, modified: '2025-12-31T22:00:00.000Z' }, 'bundle-rollback'],
    [{ domain: 'media', modified: '2025-12-31T23:30:00.000Z' }, 'bundle-domain'],
    [{ modified: '2026-01-01T00:05:00.001Z' }, 'bundle-not-yet-valid'],
    [{ modified: '2025-12-31T23:30:00.000Z', expires: '2026-12-31T00:00:00.000Z' }, 'bundle-lifetime'],
    [{ modified: '2025-12-31T23:30:00.000Z', more: { epoch: 7 } }, 'bundle-malformed'],
  ] as const) {
    served.spec = spec;
    const report = await run();
    t.deepEqual([kinds(report)['catalog'], report.status.domains['catalog']?.reason], ['rejected', reason]);
    t.is(report.exitStatus, 5);
    t.is(read('catalog.pol'), good);
  }
});

test('without the option nothing of it is taken', async (t) => {
  const { read, run } = await athenzWorld(t);
  const report = await run({ athenzBundles: false, bundleForm: 'athenz', issuer: 'zts.example' });
  t.deepEqual([kinds(report), report.status.domains['catalog']?.reason], [{ catalog: 'rejected' }, 'bundle-malformed']);
  t.is(read('catalog.pol'), undefined);
  t.deepEqual(kinds(await run({ athenzBundles: false, issuer: 'zts.example' })), { catalog: 'refused' });
});

test('only an Athenz server may keep its issuer to itself', async (t) => {
  const { read, run } = await athenzWorld(t);
  const report = await run({ athenzBundles: false, bundleForm: 'athenz' });
  t.deepEqual([kinds(report), report.status.keys.kids, read('keys.json')], [{ catalog: 'refused' }, [], undefined]);
});

test('an issuer by configuration goes into keys.json, and none is made up', async (t) => {
  const { read, run } = await athenzWorld(t);
  t.is((await run()).status.keys.error, undefined);
  t.deepEqual(Object.keys(JSON.parse(read('keys.json') ?? '')), ['keys']);
  await run({ issuer: 'zts.example' });
  t.is(JSON.parse(read('keys.json') ?? '').issuer, 'zts.example');
});

test('keys of the server that are left out stand in the status', async (t) => {
  const { read, run } = await athenzWorld(t);
  await run();
  const { keys } = JSON.parse(read('status.json') ?? '');
  t.deepEqual(keys.kids, ['zts.0', 'zts.rsa']);
  t.deepEqual(keys.leftOut, ['key `zts.odd` is of an unknown type (`kty`)']);
});

test('a host moves to Signet by its configuration, and back only when its files are removed', async (t) => {
  const { run, publish, server, read, runOnce, published, ofSignet, ofAthenz, policyDir } = await athenzWorld(t);
  await run();
  // one key in common, so that it is the order of bundles that decides
  published.push(ec.jwk as never);
  await publish({ version: 1 });
  const own = read('catalog.pol');
  server.respond = ofSignet;
  t.deepEqual(kinds(await runOnce()), { catalog: 'updated' });
  const moved = read('catalog.pol');
  t.not(moved, own);
  server.respond = ofAthenz;
  const report = await run();
  t.is(report.status.domains['catalog']?.reason, 'bundle-rollback');
  t.is(read('catalog.pol'), moved);
  for (const file of ['state.json', 'catalog.pol']) rmSync(join(policyDir, file));
  t.deepEqual(kinds(await run()), { catalog: 'updated' });
  t.is(JSON.parse(read('catalog.pol') ?? '').payload, JSON.parse(own ?? '').payload);
});
