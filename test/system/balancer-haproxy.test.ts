import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import test from 'ava';
import { freePort } from '#support/free-port';
import { install, serve } from '#support/signet-program';
import { until } from '#support/until';

test('behind a real HAProxy the address of a client is its own', async (t) => {
  if (spawnSync('haproxy', ['-v']).status !== 0) {
    t.log('haproxy is not installed: nothing was checked');
    t.pass();
    return;
  }
  const at = await install(t, { domains: [{ name: 'media', services: { player: {} } }] });
  const listen = 'listen: { port: 0, proxyProtocolFrom: [127.0.0.1] }\n';
  writeFileSync(at.config, readFileSync(at.config, 'utf8').replace('listen: { port: 0 }\n', listen));
  const server = await serve(t, at);
  const port = await freePort();
  const file = join(at.folder, 'haproxy.cfg');
  const times = 'timeout connect 60s\n timeout client 60s\n timeout server 60s';
  const target = `127.0.0.1:${new URL(server.baseUrl).port}`;
  writeFileSync(
    file,
    `defaults\n mode tcp\n ${times}\nlisten signet\n bind 127.0.0.1:${port}\n server one ${target} send-proxy-v2 proxy-v2-options ssl,unique-id,crc32c\n`,
  );
  const balancer = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' });
  t.teardown(() => void balancer.kill('SIGKILL'));
  const ask = (localAddress: string, who: { readonly certificate?: string; readonly key?: string } = {}) => {
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const credentials = { ...(who.certificate && { cert: who.certificate }), ...(who.key && { key: who.key }) };
    const agent = new Agent({ ca: at.pki.bundle, servername: 'localhost', ...credentials });
    const path = `${new URL(server.baseUrl).pathname}/oauth2/keys`;
    request({ agent, host: '127.0.0.1', port, path, localAddress }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', () => resolve(undefined))
      .end();
    return promise;
  };
  t.is(await until('haproxy serves', () => ask('127.0.0.9')), 401);
  t.is(await ask('127.0.0.10', await at.pki.identity('media.player')), 200);
  t.is(await server.end(), 0);
  t.true(server.errors().includes('"address":"127.0.0.9"'), server.errors());
});
