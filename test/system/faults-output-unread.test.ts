import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { TestAuthority, TestClock } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { parse, stringify } from 'yaml';
import { providerScript, signetScript, updaterScript } from '#support/dev-world';
import { field } from '#support/instance-world';
import { loadDomains } from '#support/mixed-load';
import { install, serve } from '#support/signet-program';
import { caller } from '#support/start-server';
import { temporaryFolder } from '#support/temp';
import { unreadPipe } from '#support/unread-pipe';
import { until } from '#support/until';
import { updaterWorld } from '../updater/support/world.ts';

/*
 * Every program that stays works on and ends when asked to, while its standard error is a full pipe that is never read; so is its standard
 * output, unless it tells a port there.
 */

/** Far longer than any program here takes to end. */
const boundMs = 120_000;

/** Starts the program; `end` answers how it ends after SIGTERM. */
function startUnread(t: ExecutionContext, script: string, args: readonly string[], output?: string) {
  const full = unreadPipe(t);
  const stdout = output === undefined ? full : openSync(output, 'a');
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', stdout, full] });
  const ended = once(child, 'exit');
  t.teardown(() => void child.kill('SIGKILL'));
  return {
    child,
    end: async () => {
      child.kill('SIGTERM');
      const killer = setTimeout(() => child.kill('SIGKILL'), boundMs);
      const status = await ended;
      clearTimeout(killer);
      return status;
    },
  };
}

/** The line of a program that answers, in the file of its standard output. */
async function saidIn(file: string): Promise<Readonly<Record<string, string>>> {
  await until('it answers', () => readFileSync(file, 'utf8').endsWith('\n'), boundMs);
  return JSON.parse(readFileSync(file, 'utf8'));
}

function statusAt(url: string, ca: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  request(url, { ca, agent: false }, (response) => resolve(response.resume().statusCode))
    .once('error', reject)
    .end();
  return promise;
}

for (const workers of [1, 2]) {
  test(`a server of ${workers} answers, counts the lines it lost, and ends`, async (t) => {
    t.timeout(400_000);
    const more = 'log: { level: debug }\nmetrics: { listen: { port: 0 } }';
    const installation = await install(t, { domains: loadDomains, more });
    const { config, pki, folder } = installation;
    const args = ['serve', '--config', config, '--json', '--workers', String(workers)];
    const { end } = startUnread(t, signetScript, args, join(folder, 'said'));
    const { baseUrl = '', metricsUrl } = await saidIn(join(folder, 'said'));
    const player = caller(t, { baseUrl, pki }, await pki.identity('media.player'));
    const keys = async () => (await player('/oauth2/keys').catch(() => undefined))?.status;
    await until('it answers', async () => (await keys()) === 200, boundMs);
    const lost = async () => {
      await Promise.all(Array.from({ length: 50 }, keys));
      const text = await fetch(String(metricsUrl))
        .then((response) => response.text())
        .catch(() => '');
      return Number(/^signet_log_lines_lost_total (\d+)$/m.exec(text)?.[1] ?? 0);
    };
    await until('lines are lost', async () => (await lost()) > 0, boundMs);
    t.is(await keys(), 200);
    t.deepEqual(await end(), [0, null]);
  });
}

test('the updater fetches bundles and ends', async (t) => {
  t.timeout(400_000);
  const world = await updaterWorld(t);
  world.clock.set(systemClock.now());
  const served = await world.publish({ version: 1 });
  const { configFile } = world;
  const textfile = join(world.folder, 'metrics.prom');
  writeFileSync(
    configFile,
    stringify({ ...parse(readFileSync(configFile, 'utf8')), logLevel: 'debug', metrics: { textfile } }),
  );
  const { child, end } = startUnread(t, updaterScript, ['run', '--config', configFile, '--json']);
  await until('the first bundle is there', () => world.read('catalog.pol') === served, boundMs);
  const next = await world.publish({ version: 2 });
  child.kill('SIGUSR1');
  await until('the next bundle is there', () => world.read('catalog.pol') === next, boundMs);
  t.deepEqual(await end(), [0, null]);
});

test('the example provider answers and ends', async (t) => {
  t.timeout(400_000);
  const authority = await TestAuthority.create({ clock: new TestClock(systemClock.now()) });
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  await authority.writeBundle(folder, { domain: 'catalog', version: 1, policies: [] });
  const own = authority.certificate('catalog.api');
  for (const [name, pem] of Object.entries({ cert: own.pem, key: own.key, ca: authority.ca.pem })) {
    writeFileSync(at(`${name}.pem`), pem, { mode: 0o600 });
  }
  const tls = { certificate: 'cert.pem', key: 'key.pem', clientCa: 'ca.pem' };
  const server = { baseUrl: 'https://localhost:1/v1', caBundle: 'ca.pem' };
  const log = { level: 'debug' };
  writeFileSync(
    at('provider.yaml'),
    stringify({ listen: { port: 0 }, tls, domain: 'catalog', policyDir: '.', server, log }),
  );
  const { end } = startUnread(t, providerScript, ['--config', at('provider.yaml'), '--json'], at('said'));
  const { url } = await saidIn(at('said'));
  const health = () => statusAt(`${url}/healthz`, authority.ca.pem).catch(() => undefined);
  await until('it answers', async () => (await health()) === 200, boundMs);
  for (let asked = 0; asked < 20; asked += 1) t.is(await health(), 200);
  t.deepEqual(await end(), [0, null]);
});

for (const form of [[], ['--json']]) {
  test(`the keeper of tokens works and ends ${form.join()}`, async (t) => {
    t.timeout(400_000);
    const installation = await install(t, { domains: loadDomains });
    const { pki, folder } = installation;
    const { baseUrl } = await serve(t, installation);
    const { certificate, key } = await pki.identity('media.player');
    const at = (name: string) => join(folder, name);
    writeFileSync(at('player.pem'), certificate);
    writeFileSync(at('player.key'), key, { mode: 0o600 });
    const identity = [
      '--cert',
      at('player.pem'),
      '--key',
      at('player.key'),
      '--ca',
      at('bundle.pem'),
      '--url',
      baseUrl,
    ];
    const args = ['token', 'run', '--domain', 'catalog', ...identity, '--out', at('token'), ...form];
    const { end } = startUnread(t, signetScript, args);
    const isThere = () => statSync(at('token'), { throwIfNoEntry: false }) !== undefined;
    await until('the token is there', isThere, boundMs);
    rmSync(at('token'));
    t.deepEqual(await end(), [0, null]);
  });

  test(`the identity agent works and ends ${form.join()}`, async (t) => {
    t.timeout(400_000);
    const installation = await install(t, { domains: loadDomains });
    const { baseUrl, as } = await serve(t, installation);
    const at = (name: string) => join(installation.folder, name);
    const admin = as(await installation.pki.identity('media.admin'));
    const { body } = await admin('/instance/sys.auth.server/media/player/i1/token');
    writeFileSync(at('attestation'), String(field(body, 'attestationData')));
    const names = ['--name', 'media.player', '--instance-id', 'i1', '--trust-domain', 'signet.test'];
    const files = ['--ca', at('bundle.pem'), '--dir', at('identity'), '--attestation', at('attestation')];
    const hook = ['--on-renew', `echo renewed; touch ${at('renewed')}`];
    const { end } = startUnread(t, signetScript, [
      'identity',
      'run',
      '--url',
      baseUrl,
      ...names,
      ...files,
      ...hook,
      ...form,
    ]);
    const isThere = () => statSync(at('renewed'), { throwIfNoEntry: false }) !== undefined;
    await until('its command was run', isThere, boundMs);
    t.deepEqual(await end(), [0, null]);
  });
}
