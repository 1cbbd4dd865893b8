import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { openDataFolder, worldPaths } from '@signet/server/dev/data-folder';
import { ensureWorld } from '@signet/server/dev/ensure-world';
import test from 'ava';
import { parse } from 'yaml';
import { repository, signetScript } from '#support/dev-world';
import { runProgram } from '#support/run-program';
import { temporaryFolder } from '#support/temp';

test('the sample system has the profile of the environment, and its address', async (t) => {
  const paths = worldPaths(join(temporaryFolder(t), 'world'));
  openDataFolder(paths);
  const policies = join(repository, 'policies');
  const start = async (profile: 'signet' | 'athenz' | undefined, port = 4443) => {
    await ensureWorld({ paths, policies, port, profile, clock: systemClock });
    const { profile: made, baseUrl } = parse(readFileSync(paths.config, 'utf8'));
    return [made, baseUrl];
  };
  t.deepEqual(await start('athenz'), ['athenz', 'https://localhost:4443/zts/v1']);
  t.deepEqual(await start(undefined, 4543), ['athenz', 'https://localhost:4543/zts/v1'], 'the file says it');
  t.deepEqual(await start('signet'), ['signet', 'https://localhost:4443/v1']);
  t.deepEqual(await start('signet', 0), ['signet', undefined], 'the server finds it');
  const own = readFileSync(paths.config, 'utf8').replace('dataDir:', 'baseUrl: https://signet.example/v1\ndataDir:');
  writeFileSync(paths.config, own);
  t.deepEqual(await start('athenz'), ['athenz', 'https://signet.example/v1'], 'an address of the operator stays');
});

test('a profile that there is not is refused before anything is made', async (t) => {
  const folder = join(temporaryFolder(t), 'world');
  const env = { ...process.env, SIGNET_PROFILE: 'athens' };
  const run = await runProgram(process.execPath, [signetScript, 'dev', '--data', folder], { env });
  t.deepEqual([run.status, run.stdout], [2, '']);
  t.is(run.stderr, 'signet: SIGNET_PROFILE must be one of signet, athenz, got `athens`\n');
  t.throws(() => readFileSync(join(folder, 'signet.yaml')), { code: 'ENOENT' });
  t.throws(() => readFileSync(folder), { code: 'ENOENT' });
});
