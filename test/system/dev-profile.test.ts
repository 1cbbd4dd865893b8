import test from 'ava';
import { startDevWorld } from '#support/dev-world';

test('SIGNET_PROFILE=athenz npm start serves clients of Athenz, and everything works as with the usual profile', async (t) => {
  const world = await startDevWorld({ env: { ...process.env, SIGNET_PROFILE: 'athenz' } });
  t.teardown(() => world.remove());
  const { baseUrl, providerUrl } = world.state;
  t.true(baseUrl.endsWith('/zts/v1'), baseUrl);
  t.is((await world.curl(undefined, `${baseUrl}/status`)).status, 200);
  t.is((await world.curl(undefined, `${baseUrl}/oauth2/keys`)).status, 200);
  const got = await world.signet('token', 'get', '--data', world.folder, '--as', 'media.player', '--domain', 'catalog');
  t.is(got.status, 0, got.stderr);
  const header = `Authorization: Bearer ${got.stdout.trim()}`;
  t.is((await world.curl('media.player', '--header', header, `${providerUrl}/movie`)).status, 200);
});
