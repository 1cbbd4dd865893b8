import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { startDevWorld } from '#support/dev-world';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

/* Provider's host on its own: no token server, no updater, and files that another user puts into the policy directory. */

test('the provider goes on deciding, and no bad bundle takes effect', async (t) => {
  const world = await startDevWorld();
  t.teardown(() => world.remove());
  const { baseUrl, providerUrl, policyDir, serverPid, updaterPid } = world.state;
  const bundle = join(policyDir, 'catalog.pol');
  const older = readFileSync(bundle, 'utf8');
  const form = 'grant_type=client_credentials&scope=catalog:domain';
  const { access_token: token } = JSON.parse(
    (await world.curl('media.player', `${baseUrl}/oauth2/token`, '--data', form)).body,
  );
  const other = (await world.curl('media.player', `${baseUrl}/domain/media/policy/signed`)).body;
  const movie = async () =>
    (await world.curl('media.player', '-H', `Authorization: Bearer ${token}`, `${providerUrl}/movie`)).status;
  const error = async (): Promise<string | undefined> => {
    const { policy } = JSON.parse((await world.curl(undefined, `${providerUrl}/healthz`)).body);
    return policy.domains.find(({ domain }: { domain: string }) => domain === 'catalog').error?.code;
  };

  // a newer version, so that the older one is a step back
  const folder = temporaryFolder(t);
  writeFileSync(
    join(folder, 'catalog.yaml'),
    readFileSync(new URL('../../policies/catalog.yaml', import.meta.url), 'utf8').replace(
      'policies:',
      'policies:\n  films:\n    - { action: list, resource: film, role: reader }',
    ),
  );
  t.is((await world.signet('apply', '--config', join(world.folder, 'signet.yaml'), folder)).status, 0);
  await until('the new version is there', () => {
    process.kill(updaterPid, 'SIGUSR1');
    return readFileSync(bundle, 'utf8') !== older;
  });
  const good = readFileSync(bundle, 'utf8');

  process.kill(serverPid, 'SIGTERM');
  await until('the end of the server is said', () =>
    /signet: token server ended with exit status 0/.test(world.errors()),
  );
  process.kill(updaterPid, 'SIGTERM');
  await until('the end of the updater is said', () => /signet: updater ended with exit status 0/.test(world.errors()));
  t.is(await movie(), 200);

  const unsigned = JSON.stringify({ ...JSON.parse(good), signature: '' });
  for (const [name, content, code] of [
    ['an older one', older, 'bundle-rollback'],
    ['one of another domain', other, 'bundle-domain'],
    ['a truncated one', good.slice(0, -100), 'bundle-malformed'],
    ['an unsigned one', unsigned, 'bundle-signature'],
    ['an empty file', '', 'bundle-malformed'],
  ] as const) {
    writeFileSync(bundle, content);
    await until(`${name} is reported as ${code}`, async () => (await error()) === code);
    t.is(await movie(), 200, name);
    writeFileSync(bundle, good);
    await until(`the good one is back after ${name}`, async () => (await error()) === undefined);
  }
  // what is centrally decided is refused without the centre
  t.is((await world.curl('media.player', `${providerUrl}/central-cert/movie`)).status, 403);

  rmSync(bundle);
  await until('without policy nothing is allowed', async () => (await movie()) === 403);
});
