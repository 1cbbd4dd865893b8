import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type OpenOptions, PolicyEngine, TokenVerifier } from '@signet/policy-engine';
import { createTestAuthority } from '@signet/policy-engine/testing';

import test, { type ExecutionContext } from 'ava';
import { type AthenzBundle, athenzBundle, athenzKey, athenzToken, readerMayRead } from '#support/athenz';
import { FakeClock } from '#support/clock';
import { temporaryFolder } from '#support/temp';

/* An engine over a directory that an updater filled from an Athenz server. */

const issuer = 'zts.athenz.example';
const [ec, rsa] = [athenzKey('ES256'), athenzKey('RS256')];
const opened: Partial<OpenOptions> = {
  athenzBundles: true,
  legacyTypes: true,
  requireBound: false,
  domains: ['catalog'],
};

function world(t: ExecutionContext) {
  const policyDir = temporaryFolder(t);
  const clock = new FakeClock();
  writeFileSync(join(policyDir, 'keys.json'), JSON.stringify({ keys: [ec.jwk, rsa.jwk] }));
  return {
    policyDir,
    clock,
    write: (spec: AthenzBundle, key = ec, p1363 = true) =>
      writeFileSync(join(policyDir, `${spec.domain ?? 'catalog'}.pol`), athenzBundle(key, spec, p1363)),
    open: async (options: Partial<OpenOptions> = {}) => {
      const engine = await PolicyEngine.open({ policyDir, clock, issuers: [issuer], ...opened, ...options });
      t.teardown(() => engine.close());
      return engine;
    },
    claims: (more: Readonly<Record<string, unknown>> = {}) => {
      const iat = clock.now() / 1000;
      const times = { iat, auth_time: iat, exp: iat + 7200 };
      return {
        ver: 1,
        iss: issuer,
        sub: 'media.player',
        uid: 'media.player',
        aud: 'catalog',
        ...times,
        scp: ['reader'],
        ...more,
      };
    },
  };
}

for (const [note, key, p1363] of [
  ['r and s', ec, true],
  ['DER', ec, false],
  ['RSA', rsa, true],
] as const) {
  test(`policy and token of an Athenz server decide: ${note}`, async (t) => {
    const { write, open, claims } = world(t);
    write({}, key, p1363);
    const engine = await open();
    const ask = async (token: string, resource = 'catalog:movie') =>
      (await engine.decide({ token, action: 'read', resource })).status;
    t.is(await ask(athenzToken(key, claims())), 'ALLOW');
    t.is(await ask(athenzToken(key, claims(), 'jwt')), 'ALLOW');
    t.is(await ask(athenzToken(key, claims(), null)), 'ALLOW');
    t.is(await ask(athenzToken(key, claims()), 'catalog:series'), 'DENY_NO_MATCH');
    t.is(await ask(athenzToken(key, claims({ scp: ['editor'] }))), 'DENY_NO_MATCH');
    t.is(await ask(athenzToken(key, claims({ aud: 'catalog:reader' }))), 'ALLOW');
    t.is(await ask(`v=Z1;d=catalog;r=reader;a=0;t=1;e=9999999999;k=${key.kid};s=x`), 'DENY_TOKEN_INVALID');
    t.like(engine.health(), { ok: true, domains: [{ domain: 'catalog', epoch: 0, state: 'fresh' }] });
  });
}

test('without the option the bundle is refused and reported, and the options for tokens are apart', async (t) => {
  const { write, open, claims } = world(t);
  write({});
  const engine = await open({ athenzBundles: false });
  t.like(engine.health(), {
    ok: false,
    domains: [{ domain: 'catalog', state: 'missing', error: { code: 'bundle-malformed' } }],
  });
  t.regex(engine.health().domains[0]?.error?.message ?? '', /`athenzBundles`/);
  const token = athenzToken(ec, claims({ aud: 'catalog:reader' }));
  const asked = { token, action: 'read', resource: 'catalog:movie' };
  t.is((await engine.explain(asked)).status, 'DENY_DOMAIN_MISMATCH');
  const strict = await open({ legacyTypes: false });
  t.is((await strict.explain({ ...asked, token: athenzToken(ec, claims()) })).token?.fault, 'claims');
  const bound = await open({ requireBound: true });
  t.is((await bound.decide({ ...asked, token: athenzToken(ec, claims()) })).status, 'DENY_CERT_HASH_MISMATCH');
  const plain = await open({ roleInAudience: false });
  t.is((await plain.decide(asked)).status, 'DENY_DOMAIN_MISMATCH');
});

const audiences: [aud: unknown, scp: readonly string[], roleInAudience: boolean, expected: string][] = [
  ['catalog', ['reader'], true, 'catalog'],
  ['catalog:reader', ['reader'], true, 'catalog'],
  [['catalog:reader'], ['reader'], true, 'catalog'],
  ['catalog:reader', ['editor'], true, 'roles'],
  ['catalog:reader', ['reader:x'], true, 'roles'],
  ['catalog:', ['reader'], true, 'roles'],
  [':reader', ['reader'], true, 'audience'],
  ['media:reader', ['reader'], true, 'audience'],
  [['catalog:reader', 'catalog:editor'], ['reader'], true, 'audience'],
  ['catalog:reader', ['reader'], false, 'audience'],
];
for (const [aud, scp, roleInAudience, expected] of audiences) {
  test(`audience ${JSON.stringify(aud)} with ${scp.join()}: ${expected} (roleInAudience ${roleInAudience})`, async (t) => {
    const { clock, claims } = world(t);
    const keys = { keys: [ec.jwk] } as never;
    const rules = { issuers: [issuer], audiences: ['catalog'], requireBound: false, legacyTypes: true };
    using verifier = await TokenVerifier.open({ keys, clock, ...rules, roleInAudience });
    const outcome = await verifier.verify({ token: athenzToken(ec, claims({ aud, scp })) });
    t.is(outcome.kind === 'invalid' ? outcome.fault : outcome.token.domain, expected);
  });
}

test('an option that is not a boolean is refused by its name', async (t) => {
  const { open } = world(t);
  for (const option of ['athenzBundles', 'roleInAudience']) {
    await t.throwsAsync(open({ [option]: 'yes' } as never), {
      code: 'invalid-options',
      message: `\`${option}\` must be true or false`,
    } as never);
  }
});

test('effects of an Athenz bundle: a missing one allows, DENY wins, whatever its flag for capitals', async (t) => {
  const { write, open } = world(t);
  const { effect: _, ...allow } = readerMayRead;
  write({ assertions: [allow] });
  const engine = await open();
  const ask = (resource: string) =>
    engine.decideRoles({ domain: 'catalog', roles: ['reader'], action: 'read', resource }).status;
  t.is(ask('catalog:movie'), 'ALLOW');
  const deny = { ...readerMayRead, resource: 'catalog:MOVIE', effect: 'DENY', caseSensitive: true };
  write({ assertions: [allow, deny], modified: '2025-12-31T23:30:00.000Z' });
  await engine.refresh();
  t.is(ask('catalog:movie'), 'DENY');
});

test('replays stay out, over restarts too, and the bundle in force is kept', async (t) => {
  const { write, open } = world(t);
  const floorFile = join(temporaryFolder(t), 'floors.json');
  const [early, late] = ['2025-12-31T22:00:00.000Z', '2025-12-31T23:00:00.000Z'];
  const write1 = { ...readerMayRead, action: 'write' };
  write({ modified: late });
  const engine = await open({ floorFile });
  for (const [spec, code] of [
    [{ modified: early, assertions: [write1] }, 'bundle-rollback'],
    [{ modified: late, assertions: [write1] }, 'bundle-equivocation'],
  ] as const) {
    write(spec);
    await engine.refresh();
    t.is(engine.health().domains[0]?.error?.code, code);
    const may = (action: string) =>
      engine.decideRoles({ domain: 'catalog', roles: ['reader'], action, resource: 'catalog:movie' }).status;
    t.deepEqual([may('read'), may('write')], ['ALLOW', 'DENY_NO_MATCH']);
    const again = await open({ floorFile });
    t.is(again.health().domains[0]?.error?.code, code);
    t.is(again.policyOf('catalog'), undefined);
  }
  await engine.close();
  t.like(JSON.parse(readFileSync(floorFile, 'utf8')).floors.catalog, { epoch: 0, issued: late });

  // The host moves: a bundle of Signet follows, and then none of Athenz, with the option on.
  const authority = await createTestAuthority();
  const assertions = [{ role: 'reader', action: 'read', resource: 'movie' }];
  const moved = temporaryFolder(t);
  await authority.writeBundle(moved, {
    domain: 'catalog',
    version: 1,
    policies: [{ name: 'catalog:policy.p', assertions }],
  });
  const after = await open({ policyDir: moved, floorFile });
  t.like(after.health(), { ok: true, domains: [{ epoch: 0, version: 1 }] });
  await after.close();
  write({ modified: '2025-12-31T23:59:00.000Z' });
  const back = await open({ floorFile });
  t.is(back.health().domains[0]?.error?.code, 'bundle-rollback');
  t.is(back.policyOf('catalog'), undefined);
});

test('a domain that nobody changed for years is fresh until its bundle is due', async (t) => {
  const { write, open, clock } = world(t);
  write({ modified: '2022-01-01T00:00:00.000Z', expires: '2026-01-08T00:00:00.000Z' });
  const engine = await open();
  const state = () => engine.health().domains[0]?.state;
  t.is(state(), 'fresh');
  clock.advance(5.25 * 86_400_000 - 1);
  t.is(state(), 'fresh');
  clock.advance(1);
  t.is(state(), 'stale');
  clock.advance(1.75 * 86_400_000);
  t.is(state(), 'expired');
  const asked = { domain: 'catalog', roles: ['reader'], action: 'read', resource: 'catalog:movie' };
  t.is(engine.decideRoles(asked).status, 'DENY_DOMAIN_EXPIRED');
});
