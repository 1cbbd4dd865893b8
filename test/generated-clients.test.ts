import { existsSync } from 'node:fs';
import test from 'ava';
import { compactVerify, createLocalJWKSet, type JSONWebKeySet } from 'jose';
import type { OpenClient } from './generated-clients/clients/client.ts';
import { instanceRequest, instanceWorld, keyPem } from './support/instance-world.ts';
import { ecPair } from './support/requests.ts';
import { type CallerOptions, wholeFile } from './support/start-server.ts';

/*
 * Clients that generators of others make of docs/openapi.json, each against a real server. `npm run generated-clients -w test` installs the
 * generators, makes and compiles the clients and runs this file.
 */

const made = new URL('generated-clients/generated/dist/clients/', import.meta.url);
if (!existsSync(made)) throw new Error('there are no generated clients: run `npm run generated-clients -w test`');

interface MutualTls {
  mutualTls(files: { readonly ca: string; readonly cert?: string; readonly key?: string }): {
    readonly fetch: typeof fetch;
    close(): Promise<void>;
  };
}
const { mutualTls }: MutualTls = await import(new URL('mutual-tls.js', made).href);

const file = wholeFile();
const world = await instanceWorld(file);
await world.save({
  name: 'sys.auth',
  services: { server: {}, operator: {} },
  roles: { providers: ['sys.auth.server'], operators: ['sys.auth.operator'] },
  policies: {
    providers: [
      ['ALLOW', 'providers', 'launch', 'instance'],
      ['ALLOW', 'operators', '*', '*'],
    ],
  },
});

const names = ['openapi-typescript', 'hey-api', 'orval'];
const clients: readonly { readonly open: OpenClient }[] = await Promise.all(
  names.map((name) => import(new URL(`${name}.js`, made).href)),
);

test.after.always(() => file.end());

for (const [index, { open }] of clients.entries()) {
  const name = names[index] ?? '';
  /** The client as a caller; orval has one connection at a time. */
  const as = ({ certificate, key }: CallerOptions) => {
    const { origin } = new URL(world.baseUrl);
    const identity = { ...(certificate !== undefined && { cert: certificate }), ...(key !== undefined && { key }) };
    const tls = mutualTls({ ca: world.pki.bundle, ...identity });
    file.teardown(() => tls.close());
    return open({ origin, fetch: tls.fetch });
  };

  test.serial(`${name}: a token by a form, and the key that verifies it`, async (t) => {
    const client = as(await world.pki.identity('media.player'));
    const { status, data } = await client.token('catalog:domain', 600);
    t.is(status, 200);
    t.is(data?.expires_in, 600);
    const keys = await client.keys();
    t.is(keys.data?.keys[0]?.crv, 'P-256');
    await compactVerify(data?.access_token ?? '', createLocalJWKSet(keys.data as JSONWebKeySet));
  });

  test.serial(`${name}: access checks`, async (t) => {
    const client = as(await world.pki.identity('media.player'));
    t.deepEqual((await client.isInRole('catalog', 'reader', 'media.player')).data, { granted: true });
    t.deepEqual((await client.isInRole('catalog', 'dbreader', 'media.player')).data, { granted: false });
    t.deepEqual((await client.isGranted('launch', 'media:service.player', 'sys.auth.server')).data, { granted: true });
  });

  test.serial(`${name}: a join token, and the instance that registers with it`, async (t) => {
    const instanceId = `i-${name}`;
    const { data } = await as(await world.pki.identity('media.admin')).joinToken(instanceId);
    const pair = ecPair();
    const registered = await as({}).register({
      provider: 'sys.auth.server',
      domain: 'media',
      service: 'player',
      attestationData: data?.attestationData ?? '',
      csr: instanceRequest(instanceId, pair),
    });
    t.is(registered.status, 201);
    t.is(registered.data?.instanceId, instanceId);
    const instance = as({ certificate: registered.data?.x509Certificate ?? '', key: keyPem(pair) });
    t.is((await instance.token('catalog:domain', 60)).status, 200);
  });

  test.serial(`${name}: a signed policy once, and then that it is the same`, async (t) => {
    const client = as(await world.pki.identity('media.player'));
    const first = await client.signedPolicy('media');
    t.is(first.status, 200);
    t.truthy(first.data?.payload);
    t.truthy(first.etag);
    const again = await client.signedPolicy('media', first.etag ?? '');
    t.deepEqual([again.status, again.etag], [304, first.etag]);
  });

  test.serial(`${name}: a domain is created, read and changed, and not by who has an old one`, async (t) => {
    const client = as(await world.pki.identity('sys.auth.operator'));
    const domain = `made-by-${name}`;
    const created = await client.createDomain(domain, ['media.admin']);
    t.is(created.status, 201);
    t.like(created.data, { name: domain });
    const read = await client.domain(domain);
    t.like(read.data, { name: domain });
    const changed = await client.describe(domain, 'Films', read.etag ?? '');
    t.is(changed.status, 200);
    t.is((await client.domain(domain)).data?.description, 'Films');
    const late = await client.describe(domain, 'Late', read.etag ?? '');
    t.is(late.status, 412);
    t.is(late.error?.code, 412);
  });

  test.serial(`${name}: an error is a ResourceError`, async (t) => {
    const client = as(await world.pki.identity('media.player'));
    const { status, data, error } = await client.domain('nothing');
    t.deepEqual([status, data, error?.code], [403, undefined, 403]);
    t.regex(error?.message ?? '', /nothing/);
    const refused = await client.token('catalog:role.writer', 60);
    t.deepEqual([refused.status, refused.error?.code], [403, 403]);
  });
}
