import { PolicyEngine } from '@signet/policy-engine';
import { type KeySource, staticKeys } from '@signet/policy-engine/bundle';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

/* Bundles in force under keys of a source of one's own, which may fail, and need not tell when a key was withdrawn. */

const reading = { role: 'reader', action: 'read', resource: 'movie' };
const policies = [{ name: 'catalog:policy.p', assertions: [reading] }];

async function world(t: ExecutionContext, revision: number | undefined) {
  const authority = await createTestAuthority();
  const policyDir = temporaryFolder(t);
  const bundle = { domain: 'catalog', policies, expiresIn: 1e6 };
  await authority.writeBundle(policyDir, bundle);
  const known = staticKeys(authority.keys);
  const source = { revision, find: known.find } as { revision?: number; find: KeySource['find'] };
  const { clock, issuer } = authority;
  const faults: string[] = [];
  const engine = await PolicyEngine.open({
    policyDir,
    clock,
    issuers: [issuer],
    keys: source,
    watch: false,
    onError: ({ code }) => faults.push(code),
  });
  t.teardown(() => engine.close());
  const look = async () => {
    await engine.refresh();
    return engine.decideRoles({ ...reading, domain: 'catalog', roles: ['reader'] }).status;
  };
  return { source, known, look, clock, faults };
}

test('a source that does not tell what it withdrew is asked again after a minute', async (t) => {
  const { source, look, clock } = await world(t, undefined);
  source.find = async () => undefined;
  clock.advance(59_999);
  t.is(await look(), 'ALLOW');
  clock.advance(1);
  t.is(await look(), 'DENY_DOMAIN_NOT_FOUND');
});

test('a source that fails leaves what is in force, says so, and is asked again', async (t) => {
  const { source, known, look, faults } = await world(t, 1);
  source.revision = 2;
  source.find = async () => Promise.reject(new Error('away'));
  t.is(await look(), 'ALLOW');
  t.is(await look(), 'ALLOW');
  t.deepEqual(faults, ['keys-unavailable']);
  source.find = known.find;
  t.is(await look(), 'ALLOW');
  source.revision = 3;
  source.find = async () => Promise.reject(new Error('away'));
  t.is(await look(), 'ALLOW');
  source.find = async () => undefined;
  t.is(await look(), 'DENY_DOMAIN_NOT_FOUND');
  t.deepEqual(faults, ['keys-unavailable', 'keys-unavailable', 'bundle-key-unknown']);
});
