import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type OpenOptions, PolicyEngine, PolicyEngineError, type Status } from '@signet/policy-engine';
import { buildBundle, signBundle } from '@signet/policy-engine/bundle';
import { createTestAuthority, type TestAuthority, type TestBundleInput } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

/** A bundle of `catalog` that allows reading of one resource: which one tells the bundles apart. */
function reading(resource: string, version: number, more: Partial<TestBundleInput> = {}): TestBundleInput {
  return {
    domain: 'catalog',
    version,
    policies: [{ name: 'catalog:policy.p', assertions: [{ role: 'reader', action: 'read', resource }] }],
    ...more,
  };
}

interface World {
  authority: TestAuthority;
  dir: string;
  file: string;
  engine: PolicyEngine;
  /** Resource of the two that may be read, or the status. */
  inForce(): string;
  bytes(input: TestBundleInput): Promise<string>;
  errorOf(domain?: string): string | undefined;
}

async function world(t: ExecutionContext, options: Partial<OpenOptions> = {}): Promise<World> {
  const authority = await createTestAuthority();
  const dir = temporaryFolder(t);
  await authority.writeBundle(dir, reading('movie', 5));
  const engine = await PolicyEngine.open({ policyDir: dir, clock: authority.clock, ...options });
  t.teardown(() => engine.close());
  const decide = (resource: string): Status =>
    engine.decideRoles({ domain: 'catalog', roles: ['reader'], action: 'read', resource }).status;
  return {
    authority,
    dir,
    file: join(dir, 'catalog.pol'),
    engine,
    inForce: () => ['movie', 'series'].find((resource) => decide(resource) === 'ALLOW') ?? decide('movie'),
    bytes: async (input) => JSON.stringify(await authority.bundle(input)),
    errorOf: (domain = 'catalog') => engine.health().domains.find((entry) => entry.domain === domain)?.error?.code,
  };
}

const changes: [note: string, change: (w: World) => Promise<void>, inForce: string][] = [
  ['an atomic rename', (w) => w.authority.writeBundle(w.dir, reading('series', 6)), 'series'],
  ['a write in place', async (w) => writeFileSync(w.file, await w.bytes(reading('series', 6))), 'series'],
  ['a removal', async (w) => unlinkSync(w.file), 'DENY_DOMAIN_NOT_FOUND'],
  [
    'a symbolic link in its place',
    async (w) => {
      writeFileSync(join(w.dir, 'kept.data'), await w.bytes(reading('series', 6)));
      symlinkSync('kept.data', join(w.dir, '.link'));
      renameSync(join(w.dir, '.link'), w.file);
    },
    'series',
  ],
  [
    'a removal and a new file',
    async (w) => {
      unlinkSync(w.file);
      writeFileSync(w.file, await w.bytes(reading('series', 6)));
    },
    'series',
  ],
];
for (const [note, change, inForce] of changes) {
  test(`an event is noticed: ${note}`, async (t) => {
    const w = await world(t);
    t.is(w.inForce(), 'movie');
    await change(w);
    await until(`${inForce} is in force`, () => w.inForce() === inForce);
    t.is(w.errorOf(), undefined);
  });

  test(`a look without events finds it too: ${note}`, async (t) => {
    const w = await world(t, { watch: false });
    await change(w);
    t.is(w.inForce(), 'movie');
    await w.engine.refresh();
    t.is(w.inForce(), inForce);
  });
}

test('a link to a file elsewhere is followed when it is changed to another', async (t) => {
  const w = await world(t);
  for (const [version, resource] of [
    [6, 'series'],
    [7, 'movie'],
    [8, 'series'],
  ] as const) {
    writeFileSync(join(w.dir, `${version}.data`), await w.bytes(reading(resource, version)));
    symlinkSync(`${version}.data`, join(w.dir, '.link'));
    renameSync(join(w.dir, '.link'), w.file);
    await until(`${resource} is in force`, () => w.inForce() === resource);
  }
  t.pass();
});

test('without events, the slow look comes by itself', async (t) => {
  const w = await world(t, { watch: false, rescanIntervalMs: 20 });
  await w.authority.writeBundle(w.dir, reading('series', 6));
  await until('series is in force', () => w.inForce() === 'series');
  t.pass();
});

/** A bundle of `catalog` that was issued as many milliseconds from now. */
async function issuedIn(w: World, milliseconds: number, input: TestBundleInput): Promise<string> {
  w.authority.clock.advance(milliseconds);
  const bytes = await w.bytes(input);
  w.authority.clock.advance(-milliseconds);
  return bytes;
}

const badFiles: [note: string, put: (w: World) => Promise<void>, code: string][] = [
  ['an older version', async (w) => writeFileSync(w.file, await w.bytes(reading('series', 4))), 'bundle-rollback'],
  [
    'other policies under the same version',
    async (w) => writeFileSync(w.file, await w.bytes(reading('series', 5))),
    'bundle-equivocation',
  ],
  [
    'an issue before the last one',
    async (w) => writeFileSync(w.file, await issuedIn(w, -1, reading('series', 6))),
    'bundle-issued-earlier',
  ],
  [
    'a version that no honest one reaches',
    async (w) => writeFileSync(w.file, await w.bytes(reading('series', Number.MAX_SAFE_INTEGER))),
    'bundle-version-jump',
  ],
  [
    'a life of more than 90 days',
    async (w) => writeFileSync(w.file, await w.bytes(reading('series', 6, { expiresIn: 90 * 86_400_000 + 1 }))),
    'bundle-lifetime',
  ],
  [
    'another domain inside',
    async (w) => writeFileSync(w.file, await w.bytes(reading('series', 6, { domain: 'media' }))),
    'bundle-domain',
  ],
  [
    'half of it',
    async (w) => writeFileSync(w.file, (await w.bytes(reading('series', 6))).slice(0, -200)),
    'bundle-malformed',
  ],
  ['nothing in it', async (w) => writeFileSync(w.file, ''), 'bundle-malformed'],
  [
    'no signature',
    async (w) =>
      writeFileSync(w.file, JSON.stringify({ ...JSON.parse(await w.bytes(reading('series', 6))), signature: '' })),
    'bundle-signature',
  ],
  [
    'signed by somebody else',
    async (w) =>
      writeFileSync(w.file, JSON.stringify(await (await createTestAuthority()).bundle(reading('series', 6)))),
    'bundle-key-unknown',
  ],
  [
    'an expired one',
    async (w) =>
      writeFileSync(
        w.file,
        await w.bytes(reading('series', 6, { expiresIn: 1 })).finally(() => w.authority.clock.advance(2)),
      ),
    'bundle-expired',
  ],
  [
    'a pipe',
    async (w) => {
      unlinkSync(w.file);
      execFileSync('mkfifo', [w.file]);
    },
    'bundle-unreadable',
  ],
  [
    'a directory',
    async (w) => {
      unlinkSync(w.file);
      mkdirSync(w.file);
    },
    'bundle-unreadable',
  ],
  ['a gigabyte', async (w) => truncateSync(w.file, 1_073_741_824), 'bundle-unreadable'],
];
test('an ALLOW under an unknown condition never counts; the rest of its bundle takes the place of the old one', async (t) => {
  const w = await world(t, { watch: false });
  const conditions = { conditionsList: [{ conditionsMap: { weather: { operator: 'EQUALS', value: 'sun' } } }] };
  const rule = { role: 'reader', action: 'read' };
  const assertions = [
    { ...rule, resource: 'movie', conditions },
    { ...rule, resource: 'series' },
  ];
  writeFileSync(w.file, await w.bytes({ ...reading('', 6), policies: [{ name: 'catalog:policy.p', assertions }] }));
  await w.engine.refresh();
  t.is(w.inForce(), 'series');
  t.is(w.errorOf(), undefined);
  t.like(w.engine.health().domains[0], {
    problems: [
      'policy `catalog:policy.p`: an assertion has a condition that this version cannot evaluate and never allows',
    ],
  });
});

for (const [note, put, code] of badFiles) {
  test(`a bad file leaves the good one in force, and is reported: ${note}`, async (t) => {
    const reported: string[] = [];
    const w = await world(t, { watch: false, onError: (error, file) => reported.push(`${file} ${error.code}`) });
    await w.authority.writeBundle(w.dir, { ...reading('x', 1), domain: 'other' });
    await put(w);
    await w.engine.refresh();
    await w.engine.refresh();
    t.is(w.inForce(), 'movie');
    t.is(w.errorOf(), code);
    t.deepEqual(reported, [`catalog.pol ${code}`]);
    t.false(w.engine.health().ok);
    t.is(w.errorOf('other'), undefined);
    t.is(w.engine.decideRoles({ domain: 'other', roles: ['reader'], action: 'read', resource: 'x' }).status, 'ALLOW');
    rmSync(w.file, { recursive: true });
    await w.authority.writeBundle(w.dir, reading('series', 9));
    await w.engine.refresh();
    t.is(w.inForce(), 'series');
    t.is(w.errorOf(), undefined);
    t.true(w.engine.health().ok);
  });
}

for (const [note, put, code] of badFiles.filter(
  ([, , code]) => !['bundle-rollback', 'bundle-expired', 'bundle-equivocation', 'bundle-issued-earlier'].includes(code),
)) {
  test(`at the start a bad file denies, is told, and hinders no other: ${note}`, async (t) => {
    const w = await world(t);
    await w.authority.writeBundle(w.dir, { ...reading('x', 1), domain: 'other' });
    await put(w);
    const engine = await PolicyEngine.open({ policyDir: w.dir, clock: w.authority.clock, watch: false });
    t.teardown(() => engine.close());
    const asked = { domain: 'catalog', roles: ['reader'], action: 'read', resource: 'movie' };
    t.is(engine.decideRoles(asked).status, 'DENY_DOMAIN_NOT_FOUND');
    t.like(engine.health(), {
      ok: false,
      domains: [
        { domain: 'catalog', state: 'missing', error: { code } },
        { domain: 'other', state: 'fresh' },
      ],
    });
  });
}

test('files that are not bundles are not looked at', async (t) => {
  const w = await world(t, { watch: false });
  for (const name of ['.catalog.pol.tmp', 'notes.txt', 'catalog.pol~', '.media.pol', 'Media.pol', 'a b.pol', '..pol']) {
    writeFileSync(join(w.dir, name), await w.bytes(reading('series', 9)));
  }
  await w.engine.refresh();
  t.deepEqual(
    w.engine.health().domains.map(({ domain, version }) => [domain, version]),
    [['catalog', 5]],
  );
});

test('a bundle denies from its expiry on, by the clock at the decision', async (t) => {
  const w = await world(t, { watch: false });
  const day = 86_400_000;
  t.like(w.engine.health(), { ok: true, domains: [{ state: 'fresh', ageMs: 0 }] });
  w.authority.clock.advance(6 * day);
  t.like(w.engine.health(), { ok: true, domains: [{ state: 'stale', ageMs: 6 * day }] });
  t.is(w.inForce(), 'movie');
  w.authority.clock.advance(day);
  t.is(w.inForce(), 'DENY_DOMAIN_EXPIRED');
  t.like(w.engine.health(), { ok: false, domains: [{ state: 'expired' }] });
  const refused = w.engine.decideRoles({ domain: 'catalog', roles: ['reader'], action: '', resource: 'movie' });
  t.is(refused.status, 'DENY_INVALID_PARAMETERS');
});

test('after a restart an expired bundle denies as expired, not as absent', async (t) => {
  const w = await world(t);
  w.authority.clock.advance(8 * 86_400_000);
  const again = await PolicyEngine.open({ policyDir: w.dir, clock: w.authority.clock });
  t.teardown(() => again.close());
  const asked = { domain: 'catalog', roles: ['reader'], action: 'read', resource: 'movie' };
  t.is(again.decideRoles(asked).status, 'DENY_DOMAIN_EXPIRED');
});

test('the floors of state.json hold after a restart, and in memory when the file is gone', async (t) => {
  const w = await world(t, { watch: false });
  writeFileSync(join(w.dir, 'state.json'), JSON.stringify({ floors: { catalog: { epoch: 0, version: 6 } } }));
  const restarted = await PolicyEngine.open({ policyDir: w.dir, clock: w.authority.clock, watch: false });
  t.teardown(() => restarted.close());
  t.like(restarted.health().domains, [{ domain: 'catalog', state: 'missing', error: { code: 'bundle-rollback' } }]);
  unlinkSync(join(w.dir, 'state.json'));
  await restarted.refresh();
  t.is(restarted.health().domains[0]?.state, 'missing');
  await w.authority.writeBundle(w.dir, reading('series', 6));
  await restarted.refresh();
  t.is(restarted.health().domains[0]?.state, 'fresh');
  writeFileSync(w.file, await w.bytes(reading('movie', 1, { epoch: 1 })));
  await restarted.refresh();
  t.like(restarted.health().domains, [{ epoch: 1, version: 1, state: 'fresh' }]);
});

test('a renewal and a new signing key are the same policies', async (t) => {
  const w = await world(t, { watch: false });
  w.authority.clock.advance(86_400_000);
  await w.authority.writeBundle(w.dir, reading('movie', 5));
  await w.engine.refresh();
  t.is(w.engine.health().domains[0]?.issued, w.authority.clock.now());
  const successor = await createTestAuthority({ clock: w.authority.clock });
  await successor.writeBundle(w.dir, reading('movie', 5));
  await w.engine.refresh();
  t.true(w.engine.health().ok);
  t.is(w.inForce(), 'movie');
});

test('a policy that is not active grants nothing, whoever put it into a bundle', async (t) => {
  const w = await world(t, { watch: false });
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  const now = w.authority.clock.now();
  const assertions = [{ effect: 'ALLOW' as const, role: 'reader', action: 'read', resource: 'series' }];
  const policies = [{ name: 'catalog:policy.off', modified: '', active: false, assertions }];
  const times = { modified: now, issued: now, expires: now + 1000 };
  const data = buildBundle({ domain: 'catalog', epoch: 0, version: 6, ...times, policies });
  const jwk = { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: 'own', x, y };
  writeFileSync(join(w.dir, 'keys.json'), JSON.stringify({ issuer: w.authority.issuer, keys: [jwk] }));
  writeFileSync(w.file, JSON.stringify(await signBundle(data, { kid: 'own', privateKey })));
  await w.engine.refresh();
  t.like(w.engine.health(), { ok: true, domains: [{ version: 6, assertions: 0 }] });
  t.is(w.inForce(), 'DENY_DOMAIN_EMPTY');
});

test('the digest of state.json holds after a restart', async (t) => {
  const w = await world(t, { watch: false });
  const floor = { epoch: 0, version: 5, issued: '2026-01-01T00:00:00.000Z', digest: 'policies-1:another' };
  writeFileSync(join(w.dir, 'state.json'), JSON.stringify({ floors: { catalog: floor } }));
  const restarted = await PolicyEngine.open({ policyDir: w.dir, clock: w.authority.clock, watch: false });
  t.teardown(() => restarted.close());
  t.like(restarted.health().domains, [{ state: 'missing', error: { code: 'bundle-equivocation' } }]);
});

test('keys.json is followed: a new key verifies, what a withdrawn key signed is gone', async (t) => {
  const w = await world(t, { watch: false, requireBound: false });
  const token = await w.authority.token({ domain: 'catalog', roles: ['reader'] });
  const decide = async (): Promise<Status> =>
    (await w.engine.decide({ token, action: 'read', resource: 'catalog:movie' })).status;
  t.is(await decide(), 'ALLOW');
  const keysFile = join(w.dir, 'keys.json');
  const before = readFileSync(keysFile, 'utf8');
  const [tokenKey, bundleKey] = w.authority.keys.keys;
  const write = (keys: unknown[]): void =>
    writeFileSync(keysFile, JSON.stringify({ issuer: w.authority.issuer, keys }));

  write([bundleKey]);
  await w.engine.refresh();
  t.is(await decide(), 'DENY_TOKEN_INVALID');
  write([tokenKey]);
  await w.engine.refresh();
  t.is(await decide(), 'DENY_DOMAIN_NOT_FOUND');
  t.is(w.errorOf(), 'bundle-key-unknown');
  writeFileSync(keysFile, before);
  await w.engine.refresh();
  t.is(await decide(), 'ALLOW');
  writeFileSync(keysFile, '{');
  await w.engine.refresh();
  t.is(await decide(), 'ALLOW');
  t.like(w.engine.health(), { ok: false, error: { code: 'keys-unavailable' } });
});

test('other keys under the names of before: what they did not sign is tried again, what is good is not read again', async (t) => {
  const w = await world(t, { watch: false });
  const asked = { domain: 'catalog', roles: ['reader'], action: 'read', resource: 'movie' };
  const keysFile = join(w.dir, 'keys.json');
  const before = readFileSync(keysFile, 'utf8');
  const decision = w.engine.decideRoles(asked);
  const foreign = (await createTestAuthority()).keys.keys;
  const keys = w.authority.keys.keys.map((key, at) => ({ ...foreign[at], kid: key.kid }));
  writeFileSync(keysFile, JSON.stringify({ issuer: w.authority.issuer, keys }));
  await w.authority.bundle({ ...reading('x', 1), domain: 'other' }).then((bundle) => {
    writeFileSync(join(w.dir, 'other.pol'), JSON.stringify(bundle));
  });
  await w.engine.refresh();
  t.is(w.errorOf('other'), 'bundle-signature');
  writeFileSync(keysFile, before);
  await w.engine.refresh();
  t.is(w.errorOf('other'), undefined);
  t.is(w.engine.decideRoles({ ...asked, domain: 'other', resource: 'x' }).status, 'ALLOW');
  t.is(w.engine.decideRoles(asked), decision, 'the policy that was in force all the time');
});

test('a key change is an event', async (t) => {
  const w = await world(t);
  const [tokenKey] = w.authority.keys.keys;
  writeFileSync(join(w.dir, 'keys.json'), JSON.stringify({ issuer: w.authority.issuer, keys: [tokenKey] }));
  await until('the bundle is gone', () => w.inForce() === 'DENY_DOMAIN_NOT_FOUND');
  t.pass();
});

for (const [mode, who] of [
  [0o770, 'its group'],
  [0o777, 'everyone'],
] as const) {
  test(`a directory that ${who} may write to is not used, neither at the start nor later`, async (t) => {
    const w = await world(t, { watch: false });
    chmodSync(w.dir, mode);
    await t.throwsAsync(PolicyEngine.open({ policyDir: w.dir, clock: w.authority.clock }), {
      code: 'directory-unsafe',
    });
    await w.authority.writeBundle(w.dir, reading('series', 6));
    await w.engine.refresh();
    t.is(w.inForce(), 'movie');
    t.like(w.engine.health(), { ok: false, error: { code: 'directory-unsafe' } });
    chmodSync(w.dir, 0o755);
    await w.engine.refresh();
    t.is(w.inForce(), 'series');
    t.true(w.engine.health().ok);
  });

  test(`keys that ${who} may write are not used, wherever they are: mode of the directory or not`, async (t) => {
    const w = await world(t, { watch: false });
    const file = join(w.dir, 'keys.json');
    chmodSync(file, mode & 0o666);
    const options = { policyDir: w.dir, clock: w.authority.clock };
    await t.throwsAsync(PolicyEngine.open(options), { code: 'keys-unavailable', message: /may write to it/ });
    const issuers = [w.authority.issuer];
    await t.throwsAsync(PolicyEngine.open({ ...options, keys: file, issuers }), { message: /may write to it/ });
    chmodSync(file, 0o644);
    await (await PolicyEngine.open({ ...options, keys: file, issuers })).close();
    const floorFile = join(temporaryFolder(t), 'floors.json');
    writeFileSync(floorFile, '{"floors":{}}');
    chmodSync(floorFile, mode & 0o666);
    const engine = await PolicyEngine.open({ ...options, floorFile });
    t.teardown(() => engine.close());
    t.like(engine.health(), { error: { code: 'floor-unavailable' } });
  });
}

const ends: [note: string, currentMs: number, nextMs: number, inForce: string][] = [
  ['the next one ends a millisecond later', 1000, 101, 'series'],
  ['the next one ends now', 1000, 100, 'movie'],
  ['both end now', 100, 100, 'DENY_DOMAIN_EXPIRED'],
  ['the one in force has a millisecond left', 101, 100, 'movie'],
];
for (const [note, currentMs, nextMs, inForce] of ends) {
  test(`an expired bundle never replaces one that is still good: ${note}`, async (t) => {
    const w = await world(t, { watch: false });
    await w.authority.writeBundle(w.dir, reading('movie', 6, { expiresIn: currentMs }));
    await w.engine.refresh();
    const next = await w.bytes(reading('series', 7, { expiresIn: nextMs }));
    w.authority.clock.advance(100);
    writeFileSync(w.file, next);
    await w.engine.refresh();
    t.is(w.inForce(), inForce);
    t.is(w.engine.health().domains[0]?.version, inForce === 'movie' ? 6 : 7);
    t.is(w.errorOf(), inForce === 'movie' ? 'bundle-expired' : undefined);
  });
}

/** Sizes of the files that are read: exactly the most, and one byte more. */
const bounds: [name: string, maxBytes: number, put: (w: World, path: string, size: number) => Promise<void>][] = [
  [
    'catalog.pol',
    33_554_432,
    async (w, path, size) => writeFileSync(path, (await w.bytes(reading('series', 6))).padEnd(size, ' ')),
  ],
  [
    'keys.json',
    1_048_576,
    async (w, path, size) => {
      const keys = JSON.stringify({ issuer: 'https://renamed.example', keys: w.authority.keys.keys });
      writeFileSync(path, keys.padEnd(size, ' '));
    },
  ],
  [
    'state.json',
    16_777_216,
    async (_, path, size) =>
      writeFileSync(path, JSON.stringify({ floors: { catalog: { epoch: 1, version: 0 } } }).padEnd(size, ' ')),
  ],
];
/** True if the file was loaded: its effect, and the report when it was not. */
const effects: Readonly<Record<string, (w: World, engine: PolicyEngine) => Promise<boolean>>> = {
  'catalog.pol': async (w, engine) => {
    const { domains } = engine.health();
    if (domains[0]?.version === 6) return true;
    if (w.errorOf() !== 'bundle-unreadable') throw new Error('nothing is told');
    return false;
  },
  'keys.json': async (w, engine) => {
    const token = await w.authority.token({
      domain: 'catalog',
      roles: ['reader'],
      claims: { iss: 'https://renamed.example' },
    });
    const { status } = await engine.decide({ token, action: 'read', resource: 'catalog:movie' });
    if (status !== 'ALLOW' && engine.health().error?.code !== 'keys-unavailable') throw new Error('nothing is told');
    return status === 'ALLOW';
  },
  'state.json': async (w, engine) => {
    await w.authority.writeBundle(w.dir, reading('series', 6));
    await engine.refresh();
    return engine.health().domains[0]?.error?.code === 'bundle-rollback';
  },
};
for (const [name, maxBytes, put] of bounds) {
  for (const [more, isTaken] of [
    [0, true],
    [1, false],
  ] as const) {
    test(`${name} is read up to ${maxBytes} bytes: ${isTaken ? 'the most' : 'one more'}`, async (t) => {
      const w = await world(t, { watch: false, requireBound: false });
      await put(w, join(w.dir, name), maxBytes + more);
      await w.engine.refresh();
      t.is(await effects[name]?.(w, w.engine), isTaken);
    });
  }
}

test('a directory that cannot be read leaves what is in force, and is reported', async (t) => {
  const w = await world(t, { watch: false });
  renameSync(w.dir, `${w.dir}.away`);
  await w.engine.refresh();
  t.is(w.inForce(), 'movie');
  t.false(w.engine.health().ok);
  renameSync(`${w.dir}.away`, w.dir);
  await w.engine.refresh();
  t.true(w.engine.health().ok);
});

test('open refuses without keys, and without an issuer', async (t) => {
  const authority = await createTestAuthority();
  const empty = temporaryFolder(t);
  await t.throwsAsync(PolicyEngine.open({ policyDir: empty }), {
    instanceOf: PolicyEngineError,
    code: 'keys-unavailable',
    message: `keys.json cannot be used: it does not exist in \`${empty}\`: run \`signet-updater once\`, which writes it, or give \`keys\``,
  });
  await t.throwsAsync(PolicyEngine.open({ policyDir: empty, keys: authority.keys }), {
    instanceOf: PolicyEngineError,
    code: 'invalid-options',
  });
  const engine = await PolicyEngine.open({ policyDir: empty, keys: authority.keys, issuers: [authority.issuer] });
  t.like(engine.health(), { ok: false, error: { code: 'policy-missing' } });
  await engine.close();
});

test('every decision during reloads comes from exactly one bundle', async (t) => {
  const w = await world(t, { watch: false });
  const policiesOf = (version: number): TestBundleInput => ({
    domain: 'catalog',
    version,
    policies: [
      {
        name: 'catalog:policy.p',
        assertions: Array.from({ length: 300 }, (_, i) => ({
          role: 'reader',
          action: `a${version}`,
          resource: `r${i}`,
        })),
      },
    ],
  });
  for (let version = 6; version < 12; version += 1) {
    await w.authority.writeBundle(w.dir, policiesOf(version));
    let isDone = false;
    const refreshing = w.engine.refresh().then(() => {
      isDone = true;
    });
    while (!isDone) {
      const allowed = new Set<number | undefined>();
      for (let action = 5; action < 13; action += 1) {
        const asked = { domain: 'catalog', roles: ['reader'], action: `a${action}`, resource: 'r7' };
        const decision = w.engine.decideRoles(asked);
        if (decision.status === 'ALLOW') allowed.add(decision.revision?.version);
      }
      t.true(allowed.size <= 1);
      await new Promise(setImmediate);
    }
    await refreshing;
  }
});
