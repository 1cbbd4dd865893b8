import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import test from 'ava';
import {
  field,
  instanceDomains,
  instanceRequest,
  instanceWorld,
  json,
  refresh,
  register,
} from '#support/instance-world';
import { isNoName } from '#support/invalid-name';
import { ecPair, type Pair, type RequestedName, requestPem } from '#support/requests';
import { wholeFile } from '#support/start-server';

const registered = ecPair();
const pem = registered.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const [system, prov, media, catalog] = instanceDomains;
const file = wholeFile();
const world = await instanceWorld(file, {
  domains: [system, prov, { ...media, services: { ...media.services, studio: { v1: pem } } }, catalog],
});
test.after.always(() => file.end());

function pairOf(key: string): Pair {
  return { privateKey: createPrivateKey(key), publicKey: createPublicKey(key) };
}

function studioRequest(
  pair: Pair,
  altNames: readonly RequestedName[] = [['uri', 'spiffe://signet.test/ns/default/sa/media.studio']],
): string {
  return requestPem(pair, { commonNames: ['media.studio'], altNames });
}

test('a service refreshes with the key of its certificate, or with a registered one', async (t) => {
  const identity = await world.pki.identity('media.studio');
  const call = world.as(identity);
  for (const body of [
    { csr: studioRequest(pairOf(identity.key)) },
    { csr: studioRequest(registered), keyId: 'v1', expiryTime: 600 },
  ]) {
    const answer = await call('/instance/media/studio/refresh', json(body));
    t.is(answer.status, 200);
    t.deepEqual(Object.keys(Object(answer.body)), ['name', 'certificate', 'caCertBundle']);
    t.is(field(answer.body, 'name'), 'media.studio');
    const leaf = new X509Certificate(String(field(answer.body, 'certificate')));
    t.is(leaf.subjectAltName, 'URI:spiffe://signet.test/ns/default/sa/media.studio');
  }
});

test('what a service may not refresh with', async (t) => {
  const identity = await world.pki.identity('media.studio');
  const call = world.as(identity);
  const own = pairOf(identity.key);
  const path = '/instance/media/studio/refresh';
  for (const [body, status, message] of [
    [
      { csr: studioRequest(ecPair()) },
      400,
      'csr public key must be the one of the presented certificate, or name its `keyId`',
    ],
    [{ csr: studioRequest(own), keyId: 'v1' }, 400, 'csr public key must be the registered key `v1`'],
    [{ csr: studioRequest(own), keyId: 'v2' }, 400, 'service `studio` has no public key `v2`'],
    [{ csr: studioRequest(own), keyId: 'v 1' }, 400, `keyId ${isNoName('KeyId')}`],
    [{}, 400, '`csr` is required'],
    [
      { csr: studioRequest(own, [['dns', 'studio.media.prov.example.com']]) },
      400,
      'csr dns name `studio.media.prov.example.com` is not one that `media.studio` may hold',
    ],
  ] as const) {
    const answer = await call(path, json(body));
    t.deepEqual([answer.status, answer.body], [status, { code: status, message }]);
  }
  const player = await world.identity('media.player');
  const answer = await player(path, json({ csr: studioRequest(registered), keyId: 'v1' }));
  t.deepEqual(answer.body, { code: 403, message: 'principal `media.player` may not refresh `media.studio`' });
  t.is((await call('/instance/nowhere/studio/refresh', json({ csr: studioRequest(own) }))).status, 404);
});

test('the certificate of an instance keeps to its lineage here as well', async (t) => {
  const first = await register(world, 's-1');
  const second = await refresh(world, first);
  const path = '/instance/media/player/refresh';
  const good = await world.as(second)(path, json({ csr: instanceRequest('s-1', pairOf(second.key)) }));
  t.is(good.status, 200);
  const chain = String(field(good.body, 'certificate'));
  t.true(
    new X509Certificate(chain).subjectAltName?.includes('s-1.player.media.sys-auth-server.instanceid.signet.test'),
  );
  const stale = await world.as(first)(path, json({ csr: instanceRequest('s-1', pairOf(first.key)) }));
  t.deepEqual(stale.body, { code: 403, message: 'the instance is revoked, it must register again' });
  t.is((await world.as({ certificate: chain, key: second.key })('/crl')).status, 401);
});

test('a registered public key is served in the alphabet of principal tokens', async (t) => {
  const studio = await world.identity('media.studio');
  const answer = await studio('/domain/media/service/studio/publickey/v1');
  const key = String(field(answer.body, 'key'));
  t.is(Buffer.from(key.replaceAll('.', '+').replaceAll('_', '/').replaceAll('-', '='), 'base64').toString(), pem);
  t.is(field(answer.body, 'id'), 'v1');
  for (const path of [
    '/domain/media/service/studio/publickey/v2',
    '/domain/media/service/ghost/publickey/v1',
    '/domain/nowhere/service/studio/publickey/v1',
  ]) {
    t.is((await studio(path)).status, 404);
  }
});
