import { once } from 'node:events';
import type { RequestListener } from 'node:http';
import { createServer, request } from 'node:https';
import { PolicyEngine, secureServerOptions } from '@signet/policy-engine';
import { systemClock } from '@signet/policy-engine/clock';
import { protect as protectExpress } from '@signet/policy-engine/express';
import { protect as protectFastify } from '@signet/policy-engine/fastify';
import { protect as protectFetch } from '@signet/policy-engine/fetch';
import type { ProtectOptions } from '@signet/policy-engine/http';
import { protect as protectKoa } from '@signet/policy-engine/koa';
import { createTestAuthority, type TestCertificate, TestClock } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import express from 'express';
import fastify from 'fastify';
import Koa from 'koa';
import { temporaryFolder } from '#support/temp';

/*
 * A host holds the signed bundles of several domains. The administrator of one of them, `evil`, gives himself a role that may do
 * everything there, gets a token for it, and asks a service of `catalog`, whose resource is just called `movie`.
 */

const authority = await createTestAuthority({ clock: new TestClock(systemClock.now()) });
const own = authority.certificate('catalog.api');
const evil = authority.certificate('evil.admin');
const rule = { action: 'read', resource: 'movie' };
const tls = { cert: own.pem, key: own.key, ca: authority.ca.pem, requestCert: true, rejectUnauthorized: false };

async function host(t: ExecutionContext): Promise<string> {
  const policyDir = temporaryFolder(t);
  const everything = [{ role: 'admin', action: '*', resource: '*' }];
  for (const domain of ['catalog', 'evil']) {
    await authority.writeBundle(policyDir, { domain, policies: [{ name: 'p', assertions: everything }] });
  }
  return policyDir;
}

const frameworks: Readonly<Record<string, (options: ProtectOptions) => Promise<RequestListener>>> = {
  koa: async (options) =>
    new Koa()
      .use(protectKoa(options))
      .use((ctx) => {
        ctx.body = 'in';
      })
      .callback(),
  express: async (options) =>
    express().get('/movie', protectExpress(options), (_, response) => void response.send('in')),
  fastify: async (options) => {
    const app = fastify();
    app.get('/movie', { onRequest: protectFastify(options) }, async () => 'in');
    await app.ready();
    return app.routing;
  },
};

async function ask(t: ExecutionContext, listener: RequestListener, as: TestCertificate, token: string) {
  const server = createServer({ ...tls, ...secureServerOptions }, listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const asked = request(`https://localhost:${port}/movie`, {
    agent: false,
    ca: authority.ca.pem,
    cert: as.pem,
    key: as.key,
    headers: { authorization: `Bearer ${token}` },
  });
  asked.end();
  const [answer] = await once(asked, 'response');
  answer.resume();
  return answer.statusCode;
}

const tokenOf = (domain: string) => authority.token({ domain, roles: ['admin'], certificate: evil });

for (const [name, open] of Object.entries(frameworks)) {
  test(`${name}: the administrator of another domain is not let in`, async (t) => {
    const policyDir = await host(t);
    await using told = await PolicyEngine.open({
      policyDir,
      domains: ['catalog'],
      clock: authority.clock,
      watch: false,
    });
    await using untold = await PolicyEngine.open({ policyDir, clock: authority.clock, watch: false });
    for (const options of [
      { engine: told, rule },
      { engine: untold, rule, domains: ['catalog'] },
      { engine: untold, rule: { ...rule, resource: 'catalog:movie' } },
    ]) {
      const listener = await open(options);
      t.is(await ask(t, listener, evil, await tokenOf('evil')), 403);
      t.is(await ask(t, listener, evil, await tokenOf('catalog')), 200);
    }
    await t.throwsAsync(() => open({ engine: untold, rule }), { code: 'invalid-options' });
  });
}

test('fetch: the administrator of another domain is not let in', async (t) => {
  const policyDir = await host(t);
  await using engine = await PolicyEngine.open({
    policyDir,
    domains: ['catalog'],
    clock: authority.clock,
    watch: false,
  });
  const handler = protectFetch(() => new Response('in'), { engine, rule, peer: () => ({ certificate: evil }) });
  for (const [domain, status] of [
    ['evil', 403],
    ['catalog', 200],
  ] as const) {
    const headers = { authorization: `Bearer ${await tokenOf(domain)}` };
    t.is((await handler(new Request('https://localhost/movie', { headers }))).status, status);
  }
});
