import test from 'ava';
import { freePort } from '#support/free-port';
import { loadDomains } from '#support/mixed-load';
import { install, type Serving, serve } from '#support/signet-program';

/* Servers of their own on one port, without a balancer: each is stopped and started while the others answer. */

/** Processes that answer, each request on a connection of its own: the first part of a request id is the process. */
async function whoAnswers(serving: Serving, requests: number): Promise<Set<string>> {
  const found = new Set<string>();
  for (let count = 0; count < requests; count += 1) {
    const call = serving.as();
    const { status, headers } = await call('/oauth2/keys');
    call.agent.destroy();
    if (status !== 401) throw new Error(`answered ${status}`);
    found.add(String(headers['x-request-id']).replace(/-[^-]*$/, ''));
  }
  return found;
}

test('two servers share a port, and one answers while the other is stopped, killed and started', async (t) => {
  t.timeout(120_000);
  const port = String(await freePort());
  const installation = await install(t, { domains: loadDomains });
  const start = (reusePort = 'true') => {
    const limits = `export SIGNET_LISTEN_REUSE_PORT=${reusePort}`;
    return serve(t, installation, { limits, args: ['--port', port] });
  };
  const first = await start();
  const second = await start();
  t.is((await whoAnswers(first, 40)).size, 2);
  // Nobody takes a share who was not told to, and nobody gets one from a server that shares nothing.
  await t.throwsAsync(start('false'), { message: /EADDRINUSE|already in use/ });
  t.is(await first.end('SIGTERM'), 0);
  const [left, ...others] = await whoAnswers(second, 20);
  t.is(others.length, 0);
  const third = await start();
  t.is((await whoAnswers(second, 40)).size, 2);
  await third.end('SIGKILL');
  t.deepEqual([...(await whoAnswers(second, 20))], [left]);
  t.is(await second.end(), 0);
});
