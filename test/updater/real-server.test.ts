import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { dirname, join } from 'node:path';
import { createClient } from '@signet/client';
import { PolicyEngine } from '@signet/policy-engine';
import { type Clock, systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePrincipalName } from '@signet/policy-engine/names';
import { issuedAt } from '@signet/server/bundles/issue-grid';
import { keysInFiles } from '@signet/server/keys/private-keys';
import { addSigningKey } from '@signet/server/keys/rotate-keys';
import { signingKeyStore } from '@signet/server/keys/signing-key-store';
import { loadConfig } from '@signet/updater/config/config';
import { openUpdater } from '@signet/updater/updater';
import test, { type ExecutionContext } from 'ava';
import { stringify } from 'yaml';
import { FakeClock } from '#support/clock';
import { type DomainSketch, domainContent } from '#support/domain-sketch';
import { saveDomain } from '#support/save-domain';
import { startServer, type TestServer } from '#support/start-server';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';
import { answer } from '../client/support/tls-server.ts';
import { kinds, makeSigningKey } from './support/world.ts';

const catalog: DomainSketch = {
  name: 'catalog',
  roles: { reader: ['media.player'], editor: ['media.studio'] },
  services: { updater: {}, api: {} },
  policies: {
    base: [
      ['ALLOW', 'reader', 'read', 'movie'],
      ['ALLOW', 'editor', '*', '*'],
    ],
  },
};
const media: DomainSketch = { name: 'media', services: { player: {}, studio: {}, guest: {} } };

async function realWorld(t: ExecutionContext, clock: Clock = systemClock) {
  const server = await startServer(t, { clock, domains: [catalog, media] });
  const folder = temporaryFolder(t);
  const files = async (name: string) => {
    const { certificate, key } = await server.pki.identity(name);
    writeFileSync(join(folder, `${name}.cert.pem`), certificate);
    writeFileSync(join(folder, `${name}.key.pem`), key);
    return { certificate: join(folder, `${name}.cert.pem`), key: join(folder, `${name}.key.pem`) };
  };
  writeFileSync(join(folder, 'ca.pem'), server.pki.bundle);
  const caBundle = join(folder, 'ca.pem');
  const connect = async (name: string) => {
    const client = createClient({ baseUrl: server.baseUrl, caBundle, ...(await files(name)) });
    t.teardown(() => client.close());
    return client;
  };
  const settings = { baseUrl: server.baseUrl, caBundle, policyDir: 'policy', domains: ['catalog', 'media'] };
  const configFile = join(folder, 'updater.yaml');
  writeFileSync(configFile, stringify({ ...settings, ...(await files('catalog.updater')) }));
  const config = loadConfig(configFile, {});
  const updater = await openUpdater({ config, clock });
  t.teardown(() => updater.close());
  return { server, config, updater, connect };
}

test('policy travels from the server through the updater to a decision, and so does its change', async (t) => {
  const { server, config, updater, connect } = await realWorld(t);
  t.deepEqual(kinds(await updater.run()), { catalog: 'updated', media: 'updated' });
  t.deepEqual(kinds(await updater.run()), { catalog: 'unchanged', media: 'unchanged' });

  const player = await connect('media.player');
  const { accessToken, scope } = await player.tokens.get({ domain: 'catalog' });
  t.deepEqual(scope, ['catalog:role.reader']);
  const engine = await PolicyEngine.open({ policyDir: config.policyDir });
  t.teardown(() => engine.close());
  const certificate = new X509Certificate(readFileSync(join(dirname(config.policyDir), 'media.player.cert.pem')));
  const decide = async (action: string) =>
    (await engine.decide({ token: accessToken, action, resource: 'catalog:movie', certificate })).status;
  t.is(await decide('read'), 'ALLOW');
  t.is(await decide('write'), 'DENY_NO_MATCH');

  await server.save({ ...catalog, policies: { base: [['DENY', 'reader', 'read', 'movie']] } });
  t.deepEqual(kinds(await updater.run()), { catalog: 'updated', media: 'unchanged' });
  await until('the engine has taken up the change', async () => (await decide('read')) === 'DENY');
});

test('domains that name the updater of a host come to its engine, and leave it a day after they do so no more', async (t) => {
  const clock = new FakeClock(systemClock.now());
  const { server, config, updater } = await realWorld(t, clock);
  await updater.reconfigure(() => ({ ...config, domains: [], autoDomains: true }));
  const name = async (sketch: DomainSketch, ...readers: readonly string[]) => {
    const bundleReaders = readers.map((reader) => parsePrincipalName(reader));
    const content = { ...domainContent(sketch), ...(readers.length > 0 && { bundleReaders }) };
    await server.store.change({ actor: 'test' }, (transaction) => saveDomain(transaction, content));
    await server.running.refresh();
  };
  const first = await updater.run();
  t.deepEqual([kinds(first), first.exitStatus], [{}, 1]);
  const engine = await PolicyEngine.open({ policyDir: config.policyDir, clock });
  t.teardown(() => engine.close());
  const decide = () =>
    engine.decideRoles({ domain: 'catalog', roles: ['reader'], action: 'read', resource: 'catalog:movie' }).status;
  const run = async () => {
    const report = await updater.run();
    await engine.refresh();
    return [kinds(report), report.exitStatus, decide()];
  };
  await name(catalog, 'catalog.updater');
  await name(media, 'media.player', 'catalog.updater');
  t.deepEqual(await run(), [{ catalog: 'updated', media: 'updated' }, 0, 'ALLOW']);
  await name(catalog, 'media.player');
  t.deepEqual(await run(), [{ catalog: 'unchanged', media: 'unchanged' }, 0, 'ALLOW']);
  clock.advance(86_400_000);
  await server.running.refresh();
  t.deepEqual(await run(), [{ media: 'updated' }, 0, 'DENY_DOMAIN_NOT_FOUND']);
});

test('the life of an honest server: renewals, changes, new and lost keys, a clock that is set back', async (t) => {
  const [hour, day] = [3_600_000, 86_400_000];
  const unchanged = { name: parseDomainName('catalog'), policyModified: 0 };
  const clock = new FakeClock(issuedAt(systemClock.now() + day, unchanged, 7 * day) - 500);
  const { server, config, updater } = await realWorld(t, clock);
  const { store, running, folder } = server;
  const outcomes: string[] = [];
  const run = async () => {
    outcomes.push(kinds(await updater.run())['catalog'] ?? '');
  };
  const change = (action: string) =>
    server.save({ ...catalog, policies: { base: [['ALLOW', 'reader', action, 'movie']] } });
  const keys = { store: signingKeyStore(store, 'test'), privateKeys: keysInFiles(join(folder, 'keys')), clock };
  await run();
  // Over the time of the next issue, back, and over it again.
  for (const step of [1000, -1000, 1000]) {
    clock.advance(step);
    await run();
  }
  t.deepEqual(outcomes.splice(0), ['updated', 'updated', 'unchanged', 'unchanged']);
  for (const [action, step] of [
    ['a', 2000],
    ['b', -1000],
    ['c', -1000],
    ['d', 60_000],
  ] as const) {
    clock.advance(step);
    await change(action);
    await run();
  }
  t.deepEqual(outcomes.splice(0), ['updated', 'updated', 'updated', 'updated']);
  const added = await addSigningKey(keys, 'bundle', hour);
  await addSigningKey(keys, 'token', hour);
  await running.refresh();
  await run();
  clock.advance(2 * hour);
  await run();
  await store.change({ actor: 'test' }, (transaction) => transaction.markKeyCompromised(added.kid, clock.now()));
  await running.refresh();
  await run();
  t.deepEqual(outcomes.splice(0), ['unchanged', 'updated', 'updated']);
  await updater.close();
  const restarted = await openUpdater({ config, clock });
  t.teardown(() => restarted.close());
  t.is(kinds(await restarted.run())['catalog'], 'unchanged');
  clock.advance(day);
  t.is(kinds(await restarted.run())['catalog'], 'updated');
});

/** Impostor: an instance of `catalog.api` on this host answers in the place of the token server with its certificate. */
async function startImpostor(t: ExecutionContext, server: TestServer) {
  const { certificate: cert, key } = await server.pki.server('catalog.api');
  const own = makeSigningKey('impostor');
  const asked: string[] = [];
  const impostor = createServer({ cert, key, ca: server.pki.bundle, requestCert: true }, (request, response) => {
    asked.push(request.url ?? '');
    const isKeys = request.url?.includes('keys') === true;
    answer(response, 200, isKeys ? { keys: [own.jwk] } : { issuer: 'https://impostor.example' });
  });
  impostor.on('tlsClientError', () => undefined);
  t.teardown(() => impostor.close());
  await new Promise<void>((resolve) => impostor.listen(0, '127.0.0.1', resolve));
  const address = impostor.address();
  return { asked, baseUrl: `https://localhost:${typeof address === 'object' ? address?.port : 0}/v1` };
}

test('an instance that answers in the place of the server gives the updater neither keys nor an issuer', async (t) => {
  const { server, config, updater } = await realWorld(t);
  await updater.run();
  await updater.close();
  const held = () => readFileSync(join(config.policyDir, 'keys.json'), 'utf8');
  const genuine = held();
  const { asked, baseUrl } = await startImpostor(t, server);
  const misled = await openUpdater({ config: { ...config, baseUrl }, clock: systemClock });
  t.teardown(() => misled.close());
  const report = await misled.run();
  t.is(report.exitStatus, 3);
  t.deepEqual(kinds(report), { catalog: 'unreachable', media: 'unreachable' });
  t.regex(report.status.keys.error ?? '', /is of `spiffe:.*catalog\.api`, not of the token server `sys\.auth\.server`/);
  t.deepEqual(asked, []);
  t.is(held(), genuine);
});

test('every operation of the client, against the server', async (t) => {
  const { connect } = await realWorld(t);
  const player = await connect('media.player');
  const guest = await connect('media.guest');
  t.true(await player.access.check({ action: 'read', resource: 'catalog:movie' }));
  t.false(await guest.access.check({ action: 'read', resource: 'catalog:movie' }));
  t.true(await guest.access.check({ action: 'read', resource: 'catalog:movie', principal: 'media.player' }));
  t.deepEqual(await guest.access.roles({ domain: 'catalog', principal: 'media.studio' }), ['editor']);
  t.true(await guest.access.inRole({ domain: 'catalog', role: 'reader', principal: 'media.player' }));
  t.deepEqual((await player.keys()).keys.map(({ purpose, crv }) => [purpose, crv]).sort(), [
    // The one that signs, and its standby.
    ['bundle', 'P-256'],
    ['bundle', 'P-256'],
    ['token', 'P-256'],
    ['token', 'P-256'],
  ]);
  const bundle = await player.bundles.fetch('catalog');
  t.is(bundle.kind, 'changed');
  const etag = bundle.kind === 'changed' ? bundle.etag : undefined;
  t.not(etag, undefined);
  t.deepEqual(await player.bundles.fetch('catalog', { ...(etag === undefined ? {} : { etag }) }), {
    kind: 'unchanged',
  });
  const id = await player.tokens.getId({ domain: 'catalog', service: 'api' });
  t.is(id.idToken.split('.').length, 3);
  const refused = await t.throwsAsync(guest.tokens.get({ domain: 'catalog' }));
  t.like(refused, {
    name: 'SignetClientError',
    code: 'refused',
    status: 403,
    serverCode: 403,
    serverError: 'invalid_scope',
  });
  const unknown = await t.throwsAsync(player.tokens.get({ domain: 'nowhere' }));
  t.like(unknown, { code: 'refused', status: 404, serverError: 'invalid_scope' });
});
