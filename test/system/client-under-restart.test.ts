import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, type SignetClient } from '@signet/client';
import test from 'ava';
import { signetScript, startDevWorld } from '#support/dev-world';

/* A client that goes on asking while its server is stopped, killed and started again. */

const requestsPerSecond = 100;

interface Load {
  /** Ends it when every request that was begun has its answer. */
  stop(): Promise<{ readonly asked: number; readonly errors: readonly string[] }>;
}

/** Real requests, one after the other kind: access checks, tokens that are not kept yet, roles. */
function startLoad(client: SignetClient): Load {
  const errors: string[] = [];
  const under: Promise<unknown>[] = [];
  let asked = 0;
  const kinds = [
    () => client.access.check({ action: 'read', resource: 'catalog:movie' }),
    (turn: number) => client.tokens.get({ domain: 'catalog', expiresIn: 600 + turn }),
    () => client.roles.list({ domain: 'catalog' }),
  ];
  const timer = setInterval(() => {
    asked += 1;
    const call = kinds[asked % kinds.length]?.(asked);
    under.push(Promise.resolve(call).catch((error: unknown) => void errors.push(String(error))));
  }, 1000 / requestsPerSecond);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(under);
      return { asked, errors };
    },
  };
}

/** `signet serve` on the port that it had, until it answers. */
async function serve(config: string, port: string): Promise<ChildProcess> {
  const env = { ...process.env, SIGNET_LISTEN_PORT: port };
  const child = spawn(process.execPath, [signetScript, 'serve', '--config', config, '--json'], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(createInterface({ input: child.stdout }), 'line');
  return child;
}

test('the server is stopped, killed and started again without one failed request', async (t) => {
  const world = await startDevWorld();
  t.teardown(() => world.remove());
  const { baseUrl, caBundle, identities, serverPid } = world.state;
  const { cert = '', key = '' } = identities['media.player'] ?? {};
  const { port } = new URL(baseUrl);
  const config = join(world.folder, 'signet.yaml');
  await using client = createClient({ baseUrl, caBundle, certificate: cert, key, retries: 40 });
  await client.tokens.get({ domain: 'catalog' });
  const load = startLoad(client);
  await pause(500);
  process.kill(serverPid, 'SIGTERM');
  await pause(1500);
  const second = await serve(config, port);
  await pause(1000);
  second.kill('SIGKILL');
  await pause(500);
  const third = await serve(config, port);
  t.teardown(() => void third.kill('SIGTERM'));
  await pause(1000);
  const { asked, errors } = await load.stop();
  t.deepEqual(errors, []);
  t.true(asked > 50, `${asked} requests`);
});

test('without a server the client says so, and only so', async (t) => {
  const world = await startDevWorld();
  t.teardown(() => world.remove());
  const { baseUrl, caBundle, identities, serverPid } = world.state;
  const { cert = '', key = '' } = identities['media.player'] ?? {};
  await using client = createClient({ baseUrl, caBundle, certificate: cert, key, retries: 0 });
  const kept = await client.tokens.get({ domain: 'catalog' });
  const load = startLoad(client);
  await pause(300);
  process.kill(serverPid, 'SIGKILL');
  await pause(700);
  t.is((await client.tokens.get({ domain: 'catalog' })).accessToken, kept.accessToken);
  const { errors } = await load.stop();
  const { host } = new URL(baseUrl);
  t.true(errors.length > 0);
  t.deepEqual(
    new Set(errors.map((error) => error.replace(/ \(.*$/, ''))),
    new Set([`SignetClientError: \`${host}\` cannot be reached`]),
  );
});
