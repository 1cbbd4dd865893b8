import { rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { kinds, makeSigningKey, type UpdaterWorld, updaterWorld } from './support/world.ts';

const keyRequests = (world: UpdaterWorld) => world.server.requests.filter(({ url }) => url.includes('keys')).length;

test('a new key is taken up by one more request, at most every 30 seconds', async (t) => {
  const world = await updaterWorld(t);
  await world.publish({ version: 1 });
  const updater = await world.open();
  await updater.run();
  t.is(keyRequests(world), 1);

  const next = makeSigningKey('bundle-2');
  await world.publish({ version: 2, key: next });
  world.clock.advance(29_999);
  t.like([...(await updater.run()).outcomes.values()][0], { kind: 'rejected', reason: 'bundle-key-unknown' });
  t.is(keyRequests(world), 1);
  world.published.push(next.jwk);
  world.clock.advance(1);
  t.deepEqual(kinds(await updater.run()), { catalog: 'updated' });
  t.is(keyRequests(world), 2);
  t.true(world.read('keys.json')?.includes('bundle-2'));
});

test('keys are fetched again by the next run, the issuer by the hour', async (t) => {
  const world = await updaterWorld(t);
  await world.publish();
  const updater = await world.open();
  await updater.run();
  world.clock.advance(49_999);
  await updater.run();
  t.is(keyRequests(world), 1);
  world.clock.advance(1);
  await updater.run();
  t.is(keyRequests(world), 2);
  const issuerRequests = () => world.server.requests.filter(({ url }) => url.includes('well-known')).length;
  t.is(issuerRequests(), 1);
  world.clock.advance(3_600_000);
  await updater.run();
  t.is(issuerRequests(), 2);
});

test('a key that is withdrawn no longer verifies', async (t) => {
  const world = await updaterWorld(t);
  await world.publish({ version: 1 });
  const updater = await world.open();
  await updater.run();
  const next = makeSigningKey('bundle-2');
  world.published.splice(0, 1, next.jwk);
  await world.publish({ version: 2 });
  world.clock.advance(60_000);
  t.like([...(await updater.run()).outcomes.values()][0], { kind: 'rejected', reason: 'bundle-key-unknown' });
  t.false(world.read('keys.json')?.includes('bundle-1'));
});

test('a token key never verifies a bundle', async (t) => {
  const world = await updaterWorld(t);
  const token = makeSigningKey('token-2', 'token');
  world.published.push(token.jwk);
  await world.publish({ key: token });
  t.like([...(await world.runOnce()).outcomes.values()][0], { kind: 'rejected', reason: 'bundle-key-unknown' });
});

test('with the keys endpoint down the kept keys serve, and the status says it', async (t) => {
  const world = await updaterWorld(t);
  await world.publish({ version: 1 });
  await world.runOnce();
  world.published.length = 0;
  await world.publish({ version: 2 });
  const report = await world.runOnce();
  t.deepEqual(kinds(report), { catalog: 'updated' });
  t.is(report.status.keys.error, 'the server publishes no usable key');
  t.true(world.read('keys.json')?.includes('bundle-1'));
});

test('the configured issuer goes before the published one', async (t) => {
  const world = await updaterWorld(t);
  await world.publish();
  await world.runOnce(undefined, { issuer: 'https://configured.example' });
  t.is(JSON.parse(world.read('keys.json') ?? '').issuer, 'https://configured.example');
  t.false(world.server.requests.some(({ url }) => url.includes('well-known')));
});

test('keys that share none with the known ones are refused with their issuer, until the operator removes the file', async (t) => {
  const world = await updaterWorld(t);
  const served = await world.publish({ version: 1 });
  const updater = await world.open();
  await updater.run();
  const genuine = world.read('keys.json');
  const [stranger, renamed] = [makeSigningKey('stranger'), makeSigningKey('bundle-1')];
  for (const keys of [[stranger.jwk], [renamed.jwk]]) {
    world.published.splice(0, world.published.length, ...keys);
    await world.publish({ version: 2, key: stranger });
    world.clock.advance(60_000);
    const report = await updater.run();
    t.is(report.exitStatus, 5);
    t.like([...report.outcomes.values()][0], { kind: 'rejected', reason: 'bundle-key-unknown' });
    t.regex(report.status.keys.error ?? '', /none of the published keys .* remove `keys\.json`/);
    t.deepEqual([world.read('keys.json'), world.read('catalog.pol')], [genuine, served]);
  }
  await updater.close();
  // a restart asks nobody again, and neither does a server that has nothing new
  await world.publish({ version: 1 });
  t.like(await world.runOnce(), { exitStatus: 5 });
  t.is(world.read('keys.json'), genuine);

  const again = await world.open();
  world.published.splice(0, world.published.length, stranger.jwk);
  const replaced = await world.publish({ version: 2, key: stranger });
  t.like(await again.run(), { exitStatus: 5 });
  rmSync(join(world.policyDir, 'keys.json'));
  world.clock.advance(60_000);
  t.like(await again.run(), { exitStatus: 0 });
  t.is(world.read('catalog.pol'), replaced);
  t.true(world.read('keys.json')?.includes('stranger'));
});

test('one key in common is enough, whatever it is for', async (t) => {
  const world = await updaterWorld(t);
  await world.publish({ version: 1 });
  await world.runOnce();
  const next = makeSigningKey('bundle-2');
  world.published.splice(0, 1, next.jwk);
  await world.publish({ version: 2, key: next });
  t.like(await world.runOnce(), { exitStatus: 0 });
});
