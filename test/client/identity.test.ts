import { X509Certificate } from 'node:crypto';
import { copyFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@signet/client';
import test from 'ava';
import { until } from '#support/until';
import { makePki } from './support/pki.ts';
import { answer, type Respond } from './support/tls-server.ts';
import { clientWorld } from './support/world.ts';

const granted: Respond = (_, response) => answer(response, 200, { granted: true });
const ask = { action: 'read', resource: 'catalog:movie' };

test('changed files are taken up on a new connection; a request under way ends on the old one', async (t) => {
  const { client, server, player, pki, clock } = await clientWorld(t, granted);
  await client.access.check(ask);
  const gate = Promise.withResolvers<void>();
  server.respond = async (request, response) => {
    await gate.promise;
    await granted(request, response);
  };
  const underWay = client.access.check(ask);
  await until('it is under way', () => server.requests.length === 2);
  server.respond = granted;

  const renewed = await pki.issue('media.renewed');
  renameSync(renewed.certFile, player.certFile);
  renameSync(renewed.keyFile, player.keyFile);
  clock.advance(1000);
  t.true(await client.access.check(ask));
  gate.resolve();
  t.true(await underWay);
  t.true(await client.access.check(ask));
  t.deepEqual(
    server.requests.map(({ caller }) => caller),
    ['media.player', 'media.player', 'media.renewed', 'media.renewed'],
  );
  t.is((await client.identity()).thumbprint, renewed.thumbprint);
});

test('files are looked at once in the interval', async (t) => {
  const { client, player, pki, clock } = await clientWorld(t, granted);
  await client.access.check(ask);
  const renewed = await pki.issue('media.renewed');
  renameSync(renewed.certFile, player.certFile);
  renameSync(renewed.keyFile, player.keyFile);
  clock.advance(999);
  t.is((await client.identity()).thumbprint, player.thumbprint);
  clock.advance(1);
  t.is((await client.identity()).thumbprint, renewed.thumbprint);
});

test('a half-rotated pair keeps the old one until the other half is there', async (t) => {
  const { client, server, player, pki, clock } = await clientWorld(t, granted);
  const renewed = await pki.issue('media.renewed');
  copyFileSync(renewed.certFile, player.certFile);
  clock.advance(1000);
  t.true(await client.access.check(ask));
  const half = await client.identity();
  t.is(half.thumbprint, player.thumbprint);
  t.like(half.problem, { code: 'invalid-identity', message: 'key is not the key of the certificate' });
  copyFileSync(renewed.keyFile, player.keyFile);
  clock.advance(1000);
  t.true(await client.access.check(ask));
  const whole = await client.identity();
  t.is(whole.thumbprint, renewed.thumbprint);
  t.is(whole.problem, undefined);
  t.deepEqual(
    server.requests.map(({ caller }) => caller),
    ['media.player', 'media.renewed'],
  );
});

const damages: readonly { note: string; damage: (file: string) => void; message: string }[] = [
  { note: 'removed', damage: unlinkSync, message: 'does not exist' },
  { note: 'emptied', damage: (file) => writeFileSync(file, ''), message: 'is empty' },
  {
    note: 'overwritten with something else',
    damage: (file) => writeFileSync(file, 'rubbish'),
    message: 'holds no certificate in PEM form',
  },
];

for (const { note, damage, message } of damages) {
  test(`a certificate file that was ${note} keeps the old identity`, async (t) => {
    const { client, player, clock } = await clientWorld(t, granted);
    damage(player.certFile);
    clock.advance(1000);
    t.true(await client.access.check(ask));
    t.like(await client.identity(), {
      thumbprint: player.thumbprint,
      problem: { code: 'invalid-identity', message: `certificate \`${player.certFile}\` ${message}` },
    });
  });
}

test('a clock that steps back does not stop the looking', async (t) => {
  const { client, player, pki, clock } = await clientWorld(t, granted);
  await client.access.check(ask);
  const renewed = await pki.issue('media.renewed');
  renameSync(renewed.certFile, player.certFile);
  renameSync(renewed.keyFile, player.keyFile);
  clock.advance(-3_600_000);
  t.is((await client.identity()).thumbprint, renewed.thumbprint);
});

test('a token of the old certificate is not reused after a rotation: it is bound to that one', async (t) => {
  let count = 0;
  const { client, server, player, pki, clock } = await clientWorld(t, (_, response) => {
    count += 1;
    answer(response, 200, { access_token: `t${count}`, token_type: 'Bearer', expires_in: 7200, scope: 'a:role.b' });
  });
  t.is((await client.tokens.get({ domain: 'catalog' })).accessToken, 't1');
  t.is((await client.tokens.get({ domain: 'catalog' })).accessToken, 't1');
  const renewed = await pki.issue('media.player');
  renameSync(renewed.certFile, player.certFile);
  renameSync(renewed.keyFile, player.keyFile);
  clock.advance(1000);
  t.is((await client.tokens.get({ domain: 'catalog' })).accessToken, 't2');
  t.is(server.requests[1]?.connection, 2);
});

test('PEM text is as good as files', async (t) => {
  const { pki, player, connect } = await clientWorld(t, granted);
  const client = connect({ certificate: player.cert, key: player.key, caBundle: pki.ca });
  t.true(await client.access.check(ask));
  t.like(await client.identity(), { thumbprint: player.thumbprint, subject: 'CN=media.player', problem: undefined });
});

test('an identity that cannot be used is refused at once, without quoting it', async (t) => {
  const { folder, pki, player } = await clientWorld(t, granted);
  const other = await (await makePki(folder, 'other')).issue('media.player');
  const good = { baseUrl: 'https://localhost/v1', certificate: player.cert, key: player.key, caBundle: pki.ca };
  const cases: readonly [Partial<typeof good>, string][] = [
    [{ key: other.key }, 'key is not the key of the certificate'],
    [{ key: '-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----' }, 'key cannot be read'],
    [{ key: `${'c2VjcmV0'.repeat(12)}secret` }, 'key is neither a file that can be read nor PEM text'],
    [{ caBundle: '-----BEGIN NOTHING-----' }, 'caBundle holds no certificate in PEM form'],
    [{ certificate: join(folder, 'missing.pem') }, `certificate \`${join(folder, 'missing.pem')}\` does not exist`],
  ];
  for (const [change, message] of cases) {
    const error = t.throws(() => createClient({ ...good, ...change }));
    t.like(error, { code: 'invalid-identity', message });
    t.false(JSON.stringify({ ...error, stack: error.stack }).includes('secret'));
  }
});

test('no request fails while certificates are swapped again and again under load', async (t) => {
  const { client, server, player, pki, clock } = await clientWorld(t, granted, { retries: 0 });
  const others = await Promise.all(['one', 'two', 'three'].map((name) => pki.issue(`media.${name}`)));
  const gone = new AbortController();
  const asking = Array.from({ length: 8 }, async () => {
    while (!gone.signal.aborted) t.true(await client.access.check(ask));
  });
  for (const other of others) {
    const before = server.requests.length;
    await until('requests flow', () => server.requests.length > before + 50);
    renameSync(other.certFile, player.certFile);
    renameSync(other.keyFile, player.keyFile);
    clock.advance(1000);
    await until('the new one is used', () => server.requests.at(-1)?.caller === callerOf(other.cert));
  }
  gone.abort();
  await Promise.all(asking);
});

test('close also ends what is under way with a certificate of before', async (t) => {
  const { client, server, player, pki, clock } = await clientWorld(t, () => undefined);
  const next = await pki.issue('media.next');
  const call = t.throwsAsync(client.access.check(ask), { code: 'closed' } as never);
  await until('the server is asked', () => server.requests.length === 1);
  server.respond = granted;
  renameSync(next.certFile, player.certFile);
  renameSync(next.keyFile, player.keyFile);
  clock.advance(1000);
  t.true(await client.access.check(ask));
  t.is(server.requests.at(-1)?.caller, 'media.next');
  await client.close();
  await call;
});

function callerOf(pem: string): string | undefined {
  return new X509Certificate(pem).subject.replace(/^CN=/, '');
}
