import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PolicyEngineError } from '@signet/policy-engine';
import { maxBundleBytes } from '@signet/policy-engine/bundle';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';
import { internals } from '../../limits/row.ts';

/* Notifications of one scan of a policy directory: a scan without news notifies no listener. */

interface Directory {
  readonly errors: ReadonlyMap<string, { error: PolicyEngineError; at: number }>;
  readonly bundles: ReadonlyMap<string, { floor: { version: number } }>;
  onChange(listener: () => void): void;
  onIssuerChange(listener: () => void): void;
  onLook(listener: () => void): void;
  scan(): Promise<void>;
  close(): Promise<void>;
}
const { PolicyDirectory } = await internals<{
  PolicyDirectory: {
    open(options: object, keys: undefined, commonFloors: { of(domain: string): undefined }): Promise<Directory>;
  };
}>('policy-engine/src/loader/policy-directory.ts');

async function world(t: ExecutionContext, domains: readonly string[] = ['catalog']) {
  const authority = await createTestAuthority();
  const policyDir = temporaryFolder(t);
  const policies = [{ name: 'p', assertions: [{ role: 'reader', action: 'read', resource: 'movie' }] }];
  const write = (domain: string, version: number, expiresIn = 1e9) =>
    authority.writeBundle(policyDir, { domain, version, policies, expiresIn });
  for (const domain of domains) await write(domain, 1);
  const options = { policyDir, clock: authority.clock, watch: false, rescanIntervalMs: 1e9 };
  const directory = await PolicyDirectory.open(options, undefined, { of: () => undefined });
  t.teardown(() => directory.close());
  const told: string[] = [];
  directory.onChange(() => told.push('change'));
  directory.onIssuerChange(() => told.push('issuer'));
  directory.onLook(() => told.push('look'));
  const look = async () => {
    await directory.scan();
    return told.splice(0).join(' ');
  };
  const put = (name: string, content: unknown) =>
    writeFileSync(join(policyDir, name), typeof content === 'string' ? content : JSON.stringify(content));
  const versions = () => [...directory.bundles].map(([domain, { floor }]) => `${domain} ${floor.version}`).sort();
  return { authority, policyDir, write, directory, look, put, versions };
}

test('a look that finds nothing new', async (t) => {
  const { directory, look } = await world(t);
  const before = directory.bundles;
  t.is(await look(), 'look');
  t.is(directory.bundles, before);
});

test('one of several files is new, in whatever order they come, or gone', async (t) => {
  const domains = ['a', 'b', 'c', 'd'];
  const { write, look, versions, policyDir } = await world(t, domains);
  for (const domain of domains) {
    await write(domain, 2);
    t.is(await look(), 'change look', domain);
    t.is(await look(), 'look');
  }
  t.deepEqual(versions(), ['a 2', 'b 2', 'c 2', 'd 2']);
  for (const [index, domain] of domains.entries()) {
    rmSync(join(policyDir, `${domain}.pol`));
    t.is(await look(), 'change look', domain);
    t.is(versions().length, 3 - index);
  }
});

test('a file that cannot be used is told until it is gone, with the time when that was found', async (t) => {
  const { authority, put, look, directory, policyDir } = await world(t);
  put('other.pol', 'none');
  t.is(await look(), 'look');
  const { at, error } = directory.errors.get('other') ?? {};
  t.is(error?.code, 'bundle-malformed');
  t.is(at, authority.clock.now());
  authority.clock.advance(1000);
  t.is(await look(), 'look');
  t.is(directory.errors.get('other')?.at, at, 'it is not read again');
  rmSync(join(policyDir, 'other.pol'));
  t.is(await look(), 'look');
  t.deepEqual([...directory.errors.keys()], []);
});

test('a bundle that is not yet valid is in force when its time has come', async (t) => {
  const { authority, put, look, directory, versions } = await world(t);
  const hour = 3_600_000;
  authority.clock.advance(hour);
  const ahead = await authority.bundle({ domain: 'catalog', version: 2, policies: [], expiresIn: 1e9 });
  authority.clock.advance(-hour);
  put('catalog.pol', ahead);
  t.is(await look(), 'look');
  t.is(directory.errors.get('catalog')?.error.code, 'bundle-not-yet-valid');
  authority.clock.advance(hour);
  t.is(await look(), 'change look');
  t.deepEqual([versions(), directory.errors.size], [['catalog 2'], 0]);
});

test('an expired bundle takes the place of one that has expired too, even this moment, and of no other', async (t) => {
  for (const [aheadMs, version] of [
    [1, 'catalog 2'],
    [0, 'catalog 3'],
  ] as const) {
    const { authority, write, look, versions, directory } = await world(t);
    await write('catalog', 2, 5000);
    await look();
    await write('catalog', 3, 5000 - aheadMs);
    authority.clock.advance(5000 - aheadMs);
    await look();
    t.deepEqual(versions(), [version]);
    t.is(directory.errors.size, aheadMs);
  }
});

test('another issuer in keys.json is told', async (t) => {
  const { authority, put, look } = await world(t);
  const { keys } = authority.keys;
  put('keys.json', { issuer: 'https://other', keys });
  t.is(await look(), 'issuer look');
  t.is(await look(), 'look');
  put('keys.json', { issuer: 'https://other', keys: [...keys].reverse() });
  t.is(await look(), 'look');
});

test('a directory that is away tells nothing but the look, and what was in force stays', async (t) => {
  const { policyDir, look, versions } = await world(t);
  renameSync(policyDir, `${policyDir}.away`);
  t.is(await look(), 'look');
  t.deepEqual(versions(), ['catalog 1']);
  renameSync(`${policyDir}.away`, policyDir);
  t.is(await look(), 'look');
});

const unreadable: [note: string, put: (path: string) => void, problem: string][] = [
  ['a folder', (path) => mkdirSync(path), 'it is not a regular file'],
  ['a link to nowhere', (path) => symlinkSync('none', path), 'it leads nowhere'],
  [
    'too large a file',
    (path) => {
      writeFileSync(path, '');
      truncateSync(path, 1 << 30);
    },
    `it is larger than ${maxBundleBytes} bytes`,
  ],
];
for (const [note, put, problem] of unreadable) {
  test(`why a file cannot be used: ${note}`, async (t) => {
    const { directory, look, policyDir } = await world(t);
    put(join(policyDir, 'other.pol'));
    t.is(await look(), 'look');
    const { error } = directory.errors.get('other') ?? {};
    t.deepEqual([error?.code, error?.message], ['bundle-unreadable', `bundle cannot be used: ${problem}`]);
  });
}
