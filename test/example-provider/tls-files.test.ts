import { renameSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import {
  connectionTrust,
  createTlsServer,
  followFiles,
  listen,
  readTlsFiles,
} from '@signet/example-provider/tls-server';
import { systemClock } from '@signet/policy-engine/clock';
import { createTestAuthority, type TestCertificate, TestClock } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import Koa from 'koa';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

/* The files of the example provider's TLS are followed: each of them, whichever changes. */

async function world(t: ExecutionContext) {
  const clock = new TestClock(systemClock.now());
  const [authority, other] = [await createTestAuthority({ clock }), await createTestAuthority({ clock })];
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  const tls = { certificate: at('cert.pem'), key: at('key.pem'), clientCa: at('ca.pem') };
  const own = authority.certificate('catalog.api');
  writeFileSync(tls.certificate, own.pem);
  writeFileSync(tls.key, own.key);
  writeFileSync(tls.clientCa, authority.ca.pem);
  const app = new Koa();
  app.use((context, next) => {
    context.body = String((context.req.socket as TLSSocket).authorized);
    return next();
  });
  const files = readTlsFiles(tls);
  const trust = connectionTrust(files);
  app.use((context) => {
    context.body = `${context.body} ${trust.isTrusted(context.req.socket)}`;
  });
  const server = createTlsServer(files, app);
  trust.watch(server);
  const errors: string[] = [];
  followFiles(server, files, (error) => void errors.push(String(error)), 10);
  const url = await listen(server, { host: '127.0.0.1', port: 0 });
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    authority,
    other,
    tls,
    errors,
    authorized: (as: TestCertificate, agent?: Agent) => ask(url, authority.ca.pem, as, agent),
  };
}

function ask(url: string, ca: string, { pem, key }: TestCertificate, agent: Agent | false = false): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const sent = request(url, { ca, cert: pem, key, servername: 'localhost', agent }, (response) => {
    response.setEncoding('utf8').once('data', resolve);
  });
  sent.once('error', reject).end();
  return promise;
}

test('a CA bundle that changes alone is taken into use', async (t) => {
  const { other, tls, errors, authorized } = await world(t);
  const client = other.certificate('media.player');
  t.is(await authorized(client), 'false true');
  writeFileSync(`${tls.clientCa}.next`, other.ca.pem);
  renameSync(`${tls.clientCa}.next`, tls.clientCa);
  await until('the other authority is trusted', async () => (await authorized(client)) === 'true true');
  t.deepEqual(errors, []);
});

test('files that cannot be used leave the old ones in use and are told once, until they are fit again', async (t) => {
  const { authority, tls, errors, authorized } = await world(t);
  const next = authority.certificate('catalog.api');
  writeFileSync(tls.key, next.key);
  await until('the fault is told', () => errors.length > 0);
  t.is(await authorized(authority.certificate('media.player')), 'true true');
  t.is(errors.length, 1);
  writeFileSync(tls.certificate, next.pem);
  t.is(await authorized(authority.certificate('media.player')), 'true true');
});

test('a kept connection counts until its authority is removed', async (t) => {
  const { authority, other, tls, authorized } = await world(t);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const kept = authority.certificate('media.player');
  t.is(await authorized(kept, agent), 'true true');
  writeFileSync(`${tls.clientCa}.next`, other.ca.pem);
  renameSync(`${tls.clientCa}.next`, tls.clientCa);
  await until('the kept connection counts no more', async () => (await authorized(kept, agent)) === 'true false');
});

test('an authority that is removed while the own certificate is in disorder counts no more', async (t) => {
  const { authority, other, tls, errors, authorized } = await world(t);
  writeFileSync(tls.key, authority.certificate('catalog.api').key);
  writeFileSync(`${tls.clientCa}.next`, other.ca.pem);
  renameSync(`${tls.clientCa}.next`, tls.clientCa);
  const removed = authority.certificate('media.player');
  await until('the authority counts no more', async () => (await authorized(removed)) === 'false true');
  t.is(errors.length, 1);
});
