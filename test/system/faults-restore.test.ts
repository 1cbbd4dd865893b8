import { X509Certificate } from 'node:crypto';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { type DevWorld, startDevWorld } from '#support/dev-world';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

interface Version {
  readonly epoch: number;
  readonly version: number;
}

/** Version on the host, by the signed part of its bundle. */
function onDisk(world: DevWorld): Version {
  const { payload } = JSON.parse(readFileSync(join(world.state.policyDir, 'catalog.pol'), 'utf8'));
  const { epoch, version } = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return { epoch, version };
}

/** Version that the engine of the provider decides by. */
async function inForce(world: DevWorld): Promise<unknown> {
  const { policy } = JSON.parse((await world.curl(undefined, `${world.state.providerUrl}/healthz`)).body);
  return policy.domains.find(({ domain }: { domain: string }) => domain === 'catalog');
}

function copyIdentity(t: ExecutionContext, world: DevWorld, name: string) {
  const { cert = '', key = '' } = world.state.identities[name] ?? {};
  const folder = temporaryFolder(t);
  const copy = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  copyFileSync(cert, copy.cert);
  copyFileSync(key, copy.key);
  return { ...copy, serial: new X509Certificate(readFileSync(cert)).serialNumber };
}

/** Changes the policies of the domain. */
async function allowReading(t: ExecutionContext, world: DevWorld, resource: string): Promise<void> {
  const folder = temporaryFolder(t);
  const policies = readFileSync(new URL('../../policies/catalog.yaml', import.meta.url), 'utf8');
  writeFileSync(
    join(folder, 'catalog.yaml'),
    policies.replace('policies:', `policies:\n  more:\n    - { action: read, resource: ${resource}, role: reader }`),
  );
  const { status, stderr } = await world.signet('apply', '--config', join(world.folder, 'signet.yaml'), folder);
  t.is(status, 0, stderr);
}

async function poll(world: DevWorld, what: string, isThere: (found: Version) => boolean): Promise<void> {
  await until(what, () => {
    process.kill(world.state.updaterPid, 'SIGUSR1');
    return isThere(onDisk(world));
  });
}

test('a host takes the bundles of a restored store, and a certificate that was revoked stays refused', async (t) => {
  const first = await startDevWorld();
  t.teardown(() => first.remove());
  const signet = (...args: readonly string[]) => first.signet(...args, '--config', join(first.folder, 'signet.yaml'));
  const backup = join(temporaryFolder(t), 'backup');
  const made = await signet('backup', backup);
  t.is(made.status, 0, made.stderr);
  const old = onDisk(first);
  for (const resource of ['films', 'all-films']) await allowReading(t, first, resource);
  await poll(first, 'the newer version is there', ({ version }) => version > old.version);
  const newer = onDisk(first);

  const stolen = copyIdentity(t, first, 'media.guest');
  const ask = async (world: DevWorld) => {
    const as = ['--cert', stolen.cert, '--key', stolen.key];
    return (await world.curl(undefined, ...as, `${world.state.baseUrl}/oauth2/keys`)).status;
  };
  t.is(await ask(first), 200);
  const revoked = await signet('certificate', 'revoke', stolen.serial);
  t.is(revoked.status, 0, revoked.stderr);
  await until('the certificate is refused', async () => (await ask(first)) === 401);
  t.is(await first.stop('SIGINT'), 0);

  const restored = await signet('restore', backup, '--json');
  t.is(restored.status, 0, restored.stderr);
  const { epoch, kept } = JSON.parse(restored.stdout);
  t.is(epoch, newer.epoch + 1);
  t.deepEqual(kept.lost, []);

  const again = await startDevWorld({ folder: first.folder });
  t.teardown(() => again.remove());
  await poll(again, 'the bundle of the new epoch is there', (found) => found.epoch === epoch);
  await until('the engine decides by it', async () =>
    JSON.stringify(await inForce(again)).includes(`"epoch":${epoch}`),
  );
  t.is(await ask(again), 401);
  await allowReading(t, again, 'still-more-films');
  await poll(again, 'changes go on', (found) => found.epoch === epoch && found.version > newer.version);
  t.is((await signet('audit', 'verify')).status, 0);
});
