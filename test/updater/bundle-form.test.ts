import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PolicyEngine } from '@signet/policy-engine';
import { systemClock } from '@signet/policy-engine/clock';
import { loadConfig } from '@signet/updater/config/config';
import { openUpdater } from '@signet/updater/updater';
import test, { type ExecutionContext } from 'ava';
import { stringify } from 'yaml';
import { FakeClock } from '#support/clock';
import type { DomainSketch } from '#support/domain-sketch';
import { startServer } from '#support/start-server';
import { temporaryFolder } from '#support/temp';
import { kinds } from './support/world.ts';

/* The form in which bundles are kept, on hosts whose engines are Athenz's and on those that change it, against the server. */

const catalog: DomainSketch = {
  name: 'catalog',
  roles: { reader: ['media.player'] },
  services: { updater: {} },
  policies: { base: [['ALLOW', 'reader', 'read', 'movie']] },
};

async function realWorld(t: ExecutionContext, profile: 'signet' | 'athenz') {
  const clock = new FakeClock(systemClock.now());
  const server = await startServer(t, { clock, domains: [catalog], options: { profile } });
  const folder = temporaryFolder(t);
  const { certificate, key } = await server.pki.identity('catalog.updater');
  writeFileSync(join(folder, 'cert.pem'), certificate);
  writeFileSync(join(folder, 'key.pem'), key);
  writeFileSync(join(folder, 'ca.pem'), server.pki.bundle);
  const files = { certificate: 'cert.pem', key: 'key.pem', caBundle: 'ca.pem', policyDir: 'policy' };
  const configFile = join(folder, 'updater.yaml');
  writeFileSync(configFile, stringify({ baseUrl: server.baseUrl, domains: ['catalog'], ...files }));
  const config = loadConfig(configFile, {});
  return {
    server,
    config,
    clock,
    /** A run of an updater that was just started with that form; what it did, and the members of the file. */
    run: async (bundleForm: 'rfc7515' | 'athenz') => {
      await using updater = await openUpdater({ config: { ...config, bundleForm }, clock });
      const kind = kinds(await updater.run())['catalog'];
      const jws = JSON.parse(readFileSync(join(config.policyDir, 'catalog.pol'), 'utf8'));
      return [kind, Object.keys(jws).join(), Buffer.from(jws.protected, 'base64url').toString()];
    },
  };
}

for (const profile of ['signet', 'athenz'] as const) {
  test(`profile ${profile}: files have the form that Athenz’s engines read, and change with the option`, async (t) => {
    const { server, config, clock, run } = await realWorld(t, profile);
    const [, , own = ''] = await run('rfc7515');
    const { kid } = JSON.parse(own);
    const ownForm = ['payload,protected,signature', `{"kid":"${kid}","alg":"ES256","typ":"signet-bundle+jws"}`];
    const athenzForm = ['payload,protected,header,signature', `{"kid":"${kid}","alg":"ES256"}`];
    const engine = await PolicyEngine.open({ policyDir: config.policyDir, clock });
    t.teardown(() => engine.close());
    const may = async (action: string) => {
      await engine.refresh();
      t.true(engine.health().ok, JSON.stringify(engine.health()));
      return engine.decideRoles({ domain: 'catalog', roles: ['reader'], action, resource: 'catalog:movie' }).status;
    };

    t.deepEqual(await run('rfc7515'), ['unchanged', ...ownForm]);
    t.deepEqual(await run('athenz'), ['updated', ...athenzForm]);
    t.is(await may('read'), 'ALLOW');
    t.deepEqual(await run('athenz'), ['unchanged', ...athenzForm]);
    clock.advance(1000);
    await server.save({ ...catalog, policies: { base: [['ALLOW', 'reader', 'write', 'movie']] } });
    t.deepEqual(await run('athenz'), ['updated', ...athenzForm]);
    t.deepEqual([await may('read'), await may('write')], ['DENY_NO_MATCH', 'ALLOW']);
    t.deepEqual(await run('rfc7515'), ['updated', ...ownForm]);
    t.is(await may('write'), 'ALLOW');
    t.deepEqual(await run('rfc7515'), ['unchanged', ...ownForm]);
    // Due for a new one: a tag of the time of change says nothing of its expiry.
    t.is((await run('athenz'))[0], 'updated');
    clock.advance(6 * 86_400_000);
    t.is((await run('athenz'))[0], 'updated');
    t.is(await may('write'), 'ALLOW');
  });
}

test('a server that became Signet under an updater that is told of Athenz is followed as ever', async (t) => {
  const { config, clock, run } = await realWorld(t, 'athenz');
  t.is((await run('athenz'))[0], 'updated');
  await using updater = await openUpdater({ config: { ...config, athenzBundles: true }, clock });
  const report = await updater.run();
  t.deepEqual(kinds(report), { catalog: 'unchanged' });
  t.is(report.status.domains['catalog']?.epoch, 1);
});
