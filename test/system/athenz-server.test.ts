import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OpenOptions, PolicyEngine } from '@signet/policy-engine';
import { formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import test, { type ExecutionContext } from 'ava';
import { stringify } from 'yaml';
import {
  type AthenzBundle,
  type AthenzKey,
  athenzBundle,
  athenzKey,
  athenzPayload,
  athenzToken,
  readerMayRead,
} from '#support/athenz';
import { updaterScript } from '#support/dev-world';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';
import { makePki } from '../client/support/pki.ts';
import { answer, startTlsServer } from '../client/support/tls-server.ts';

/*
 * The updater as a process and the engine on an Athenz server: what that answers is made text for text as a genuine one does, by keys and
 * certificates of its own (rows E1 to E5 of the profile's specification).
 */

const hour = 3_600_000;
const issuer = 'zts.athenz.example';
const [ec, rsa] = [athenzKey('ES256', 'zts.ec'), athenzKey('RS256', 'zts.rsa')];

async function world(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  const pki = await makePki(folder);
  const { certFile, keyFile } = await pki.issue('catalog.updater');
  const now = systemClock.now();
  const usual = { modified: formatTimestamp(now - hour), expires: formatTimestamp(now + 167 * hour) };
  const served: { spec: AthenzBundle; key: AthenzKey; isDer: boolean } = { spec: usual, key: ec, isDer: false };
  const identity = await pki.issue('zts', ['localhost']);
  const zts = await startTlsServer(t, {
    identity,
    ca: pki.ca,
    respond: ({ method, url, headers, body }, response) => {
      const operation = `${method} ${url}`;
      if (operation === 'GET /zts/v1/oauth2/keys?rfc=true') return answer(response, 200, { keys: [rsa.jwk, ec.jwk] });
      if (operation !== 'POST /zts/v1/domain/catalog/policy/signed') {
        return answer(response, 404, { code: 404, message: 'Not Found' });
      }
      const etag = `"${JSON.parse(athenzPayload(served.spec)).modified}"`;
      if (headers['if-none-match'] === etag) return void response.writeHead(304, { etag }).end();
      const isP1363 = JSON.parse(body).signatureP1363Format === true && !served.isDer;
      response.writeHead(200, { 'content-type': 'application/json', etag });
      response.end(athenzBundle(served.key, served.spec, isP1363));
    },
  });
  const configFile = join(folder, 'updater.yaml');
  const settings = {
    baseUrl: zts.baseUrl.replace(/\/v1$/, '/zts/v1'),
    serverIdentity: 'host-name',
    issuer,
    athenzBundles: true,
    caBundle: 'ca.pem',
    certificate: certFile,
    key: keyFile,
    policyDir: 'policy',
    domains: ['catalog'],
  };
  const policyDir = join(folder, 'policy');
  return {
    zts,
    usual,
    served,
    policyDir,
    configure: (more: Readonly<Record<string, unknown>> = {}) =>
      writeFileSync(configFile, stringify({ ...settings, ...more })),
    updater: (command: string) =>
      runProgram(process.execPath, [updaterScript, command, '--config', configFile, '--json']),
    engine: async (options: Partial<OpenOptions> = {}) => {
      const engine = await PolicyEngine.open({ policyDir, domains: ['catalog'], athenzBundles: true, ...options });
      t.teardown(() => engine.close());
      return engine;
    },
    token: (key: AthenzKey, more: Readonly<Record<string, unknown>> = {}, typ: string | null = 'at+jwt') => {
      const iat = Math.floor(systemClock.now() / 1000);
      const who = { sub: 'media.player', iat, exp: iat + 7200, iss: issuer, aud: 'catalog', auth_time: iat, ver: 1 };
      return athenzToken(
        key,
        { ...who, scp: ['reader'], uid: 'media.player', client_id: 'media.player', ...more },
        typ,
      );
    },
  };
}

test('updater and engine follow an Athenz server: bundle, change, 304, and its tokens decide', async (t) => {
  const { zts, usual, served, policyDir, configure, updater, engine, token } = await world(t);
  configure();
  for (const [key, isDer] of [
    [ec, false],
    [ec, true],
    [rsa, false],
  ] as const) {
    const at = formatTimestamp(systemClock.now());
    Object.assign(served, { key, isDer, spec: { ...usual, modified: at } });
    const first = await updater('once');
    t.is(first.status, 0, first.stdout + first.stderr);
    t.is(JSON.parse(first.stdout).domains.catalog.outcome, 'updated');
    t.is(JSON.parse((await updater('once')).stdout).domains.catalog.outcome, 'unchanged');
    t.is(zts.requests.at(-1)?.headers['if-none-match'], `"${at}"`);

    const deciding = await engine({ requireBound: false, legacyTypes: true });
    const ask = async (text: string, action = 'read') =>
      (await deciding.decide({ token: text, action, resource: 'catalog:movie' })).status;
    t.is(await ask(token(key)), 'ALLOW');
    t.is(await ask(token(key, { jti: undefined, client_id: undefined }, 'jwt')), 'ALLOW');
    t.is(await ask(token(key, { aud: 'catalog:reader' })), 'ALLOW');
    t.is(await ask(token(key, { aud: 'catalog:editor' })), 'DENY_TOKEN_INVALID');
    t.is(await ask(token(key), 'write'), 'DENY_NO_MATCH');
    t.is(await ask('v=Z1;d=catalog;r=reader;p=media.player;a=1;t=1;e=4102444800;k=zts.ec;s=x'), 'DENY_TOKEN_INVALID');
  }
  for (const command of ['status', 'check']) t.is((await updater(command)).status, 0, command);
  t.is(JSON.parse(readFileSync(join(policyDir, 'keys.json'), 'utf8')).issuer, issuer);
  t.deepEqual([...new Set(zts.requests.map(({ body }) => body))].sort(), [
    '',
    '{"policyVersions":null,"signatureP1363Format":true}',
  ]);
});

test('a change of the server is followed, its replays are not', async (t) => {
  const { usual, served, configure, updater, engine } = await world(t);
  configure();
  const { effect: _, ...write } = { ...readerMayRead, action: 'write' };
  t.is((await updater('once')).status, 0);
  const deciding = await engine();
  const may = async (action: string) => {
    await deciding.refresh();
    return deciding.decideRoles({ domain: 'catalog', roles: ['reader'], action, resource: 'movie' }).status;
  };
  t.deepEqual([await may('read'), await may('write')], ['ALLOW', 'DENY_NO_MATCH']);
  served.spec = { ...usual, modified: formatTimestamp(systemClock.now() - 1000), assertions: [write] };
  t.is((await updater('once')).status, 0);
  t.deepEqual([await may('read'), await may('write')], ['DENY_NO_MATCH', 'ALLOW']);
  served.spec = usual;
  const replayed = await updater('once');
  t.is(replayed.status, 5);
  t.is(JSON.parse(replayed.stdout).domains.catalog.reason, 'bundle-rollback');
  t.is(await may('write'), 'ALLOW');
});

test('nothing of it without being told: the server, its bundles and its size', async (t) => {
  const { usual, served, configure, updater, engine } = await world(t);
  configure({ serverIdentity: undefined });
  const stranger = await updater('once');
  t.is(stranger.status, 3);
  t.regex(stranger.stdout, /not of the token server/);
  configure({ athenzBundles: false });
  t.is(JSON.parse((await updater('once')).stdout).domains.catalog.reason, 'status-404');
  configure({ athenzBundles: false, bundleForm: 'athenz' });
  const unasked = await updater('once');
  t.is(unasked.status, 5);
  t.regex(unasked.stdout, /bundle-malformed.*`athenzBundles`/);
  configure({ maxBundleBytes: 1_048_576 });
  const entity = 'm'.repeat(1000);
  const assertions = Array.from({ length: 900 }, (_, id) => ({
    ...readerMayRead,
    id,
    resource: `catalog:${entity}${id}`,
  }));
  served.spec = { ...usual, assertions };
  t.is(JSON.parse((await updater('once')).stdout).domains.catalog.reason, 'response-too-large');
  configure({ maxBundleBytes: 2_097_152 });
  t.is((await updater('once')).status, 0);
  const strict = await engine({ athenzBundles: false });
  t.like(strict.health(), { ok: false, domains: [{ state: 'missing', error: { code: 'bundle-malformed' } }] });
});
