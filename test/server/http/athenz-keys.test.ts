import { createPublicKey } from 'node:crypto';
import { systemClock } from '@signet/policy-engine/clock';
import type { JwkList } from '@signet/policy-engine/wire';
import test from 'ava';
import { FakeClock } from '#support/clock';
import type { DomainSketch } from '#support/domain-sketch';
import { field } from '#support/instance-world';
import { send } from '#support/management-world';
import { principalToken } from '#support/principal-token';
import { ecPair, type Pair, requestPem } from '#support/requests';
import { caller, startServer, wholeFile } from '#support/start-server';

/* Ids of keys, which older clients write in lower case, and the server's own keys under the names by which they look for them. */

const file = wholeFile();
const clock = new FakeClock(systemClock.now());
const pairs: Pair[] = [ecPair(), ecPair(), ecPair()];
const pemOf = ({ publicKey }: Pair) => publicKey.export({ type: 'spki', format: 'pem' }).toString();
const [first = '', second = '', third = ''] = pairs.map(pemOf);
const domains: readonly DomainSketch[] = [
  { name: 'sys.auth', roles: { admin: ['media.boss'] }, services: { zts: { mine: third }, other: { mine: third } } },
  {
    name: 'media',
    services: {
      boss: {},
      player: { V1: first, two: second },
      twice: { A: first, a: second, B: first },
      spare: { A: first, a: second },
    },
    roles: { admin: ['media.boss'] },
  },
];
const athenz = await startServer(file, { clock, domains, options: { profile: 'athenz' } });
const signet = await startServer(file, { clock, domains, pki: athenz.pki });
const boss = await athenz.pki.identity('media.boss');
test.after.always(() => file.end());

const calls = { athenz: caller(file, athenz, boss), signet: caller(file, signet, boss) };
const path = '/access/read?resource=media:x';

async function withToken(profile: keyof typeof calls, fields: Readonly<Record<string, string>>, of = 0) {
  const key = pairs[of]?.privateKey ?? ecPair().privateKey;
  const headers = { 'athenz-principal-auth': principalToken({ now: clock.now(), key, fields }) };
  return (await calls[profile](path, { headers })).status;
}

test('athenz: the id of a key is found in any case, where it is the only one', async (t) => {
  for (const k of ['V1', 'v1']) t.is(await withToken('athenz', { k }), 200, k);
  t.is(await withToken('athenz', { k: 'TWO' }, 1), 200);
  t.is(await withToken('athenz', { k: 'v1' }, 1), 401, 'another key');
  t.is(await withToken('athenz', { k: 'v2' }), 401);
  t.is(await withToken('athenz', { n: 'twice', k: 'A' }), 200, 'exactly as registered');
  t.is(await withToken('athenz', { n: 'twice', k: 'a' }, 1), 200);
  t.is(await withToken('athenz', { n: 'twice', k: 'a' }), 401, 'exactly as registered, by the key of the other');
  t.is(await withToken('athenz', { n: 'twice', k: 'b' }), 200);
});

test('signet: the id of a key is compared as it is', async (t) => {
  t.is(await withToken('signet', { k: 'V1' }), 200);
  t.is(await withToken('signet', { k: 'v1' }), 401);
});

test('an id in another case names the key of a refresh and of a look-up as well', async (t) => {
  const player = caller(t, athenz, await athenz.pki.identity('media.player'));
  const csr = requestPem(pairs[0] ?? ecPair(), { commonNames: ['media.player'] });
  const refresh = send('POST', { csr, keyId: 'v1' });
  t.is((await player('/instance/media/player/refresh', refresh)).status, 200);
  t.deepEqual(field((await player('/domain/media/service/player/publickey/v1')).body, 'id'), 'V1');
  const other = caller(t, signet, await athenz.pki.identity('media.player'));
  t.is((await other('/instance/media/player/refresh', refresh)).status, 400);
  t.is((await other('/domain/media/service/player/publickey/v1')).status, 404);
});

test('a second id that differs only in case is refused, and one that is there may be replaced', async (t) => {
  const keys = '^/management/v1/domains/media/services';
  const put = (service: string, id: string) =>
    calls.athenz(`${keys}/${service}/keys/${id}`, send('PUT', { pem: second }));
  const refused = await put('player', 'v1');
  t.deepEqual(refused.body, { code: 409, message: 'key id `v1` differs only in case from `V1` of the service' });
  t.is((await put('player', 'v3')).status, 201);
  t.is((await put('spare', 'A')).status, 200);
});

test("athenz: the server's published keys are those of sys.auth.zms and sys.auth.zts", async (t) => {
  const { keys } = (await calls.athenz('/oauth2/keys?rfc=true')).body as JwkList;
  t.true(keys.length >= 4);
  for (const { kid, x } of keys) {
    for (const service of ['zms', 'zts']) {
      const answer = await calls.athenz(`/domain/SYS.auth/service/${service}/publickey/${kid}`);
      t.is(answer.status, 200, answer.text);
      t.is(field(answer.body, 'id'), kid);
      const pem = Buffer.from(
        String(field(answer.body, 'key')).replaceAll('.', '+').replaceAll('_', '/').replaceAll('-', '='),
        'base64',
      );
      t.is(createPublicKey(pem).export({ format: 'jwk' })['x'], x);
    }
    for (const service of ['sys.auth/service/other', 'media/service/player', 'sys.auth/service/zts/x']) {
      t.is((await calls.athenz(`/domain/${service}/publickey/${kid}`)).status, 404);
    }
    t.is((await calls.signet(`/domain/sys.auth/service/zts/publickey/${kid}`)).status, 404);
  }
  const registered = await calls.athenz('/domain/sys.auth/service/zts/publickey/mine');
  t.is(field(registered.body, 'id'), 'mine');
});
