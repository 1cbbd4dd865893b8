import { PolicyEngine, TokenVerifier } from '@signet/policy-engine';
import { createTestAuthority, type TestAuthority } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

const minute = 60_000;
const week = 7 * 24 * 60 * minute;

interface World {
  readonly authority: TestAuthority;
  readonly engine: PolicyEngine;
  decide(token: string): Promise<string>;
}

async function world(t: ExecutionContext): Promise<World> {
  const authority = await createTestAuthority();
  const policyDir = temporaryFolder(t);
  const assertions = [{ role: 'reader', action: 'read', resource: 'catalog:movie' }];
  await authority.writeBundle(policyDir, { domain: 'catalog', policies: [{ name: 'catalog:policy.p', assertions }] });
  const { clock } = authority;
  const engine = await PolicyEngine.open({ policyDir, clock, watch: false, requireBound: false });
  t.teardown(() => engine.close());
  return {
    authority,
    engine,
    decide: async (token) => (await engine.decide({ token, action: 'read', resource: 'catalog:movie' })).status,
  };
}

test('a token that has expired stays so when the clock is set back', async (t) => {
  const { authority, engine, decide } = await world(t);
  const input = { domain: 'catalog', roles: ['reader'], expiresInSeconds: 60 };
  const [known, unknown] = [await authority.token(input), await authority.token(input)];
  t.is(await decide(known), 'ALLOW');
  authority.clock.advance(minute);
  t.is(await decide(known), 'DENY_TOKEN_EXPIRED');
  authority.clock.advance(-5 * minute);
  t.is(await decide(known), 'DENY_TOKEN_EXPIRED');
  t.is(await decide(unknown), 'DENY_TOKEN_EXPIRED');
  const { ok, clockSetBackMs = 0 } = engine.health();
  t.true(ok);
  t.true(clockSetBackMs >= 5 * minute && clockSetBackMs < 10 * minute, `${clockSetBackMs}`);
  authority.clock.advance(10 * minute);
  t.is(engine.health().clockSetBackMs, undefined);
});

test('what has not expired does so in its time, though the clock was set back', async (t) => {
  const { authority, decide } = await world(t);
  const token = await authority.token({ domain: 'catalog', roles: ['reader'], expiresInSeconds: 2 });
  t.is(await decide(token), 'ALLOW');
  authority.clock.advance(-5 * minute);
  await until('it expires', async () => (await decide(token)) === 'DENY_TOKEN_EXPIRED');
  t.pass();
});

test('a bundle that has expired stays so when the clock is set back', async (t) => {
  const { authority, engine } = await world(t);
  const asked = { domain: 'catalog', roles: ['reader'], action: 'read', resource: 'catalog:movie' };
  authority.clock.advance(week);
  t.is(engine.decideRoles(asked).status, 'DENY_DOMAIN_EXPIRED');
  authority.clock.advance(-5 * minute);
  t.is(engine.decideRoles(asked).status, 'DENY_DOMAIN_EXPIRED');
  t.like(engine.health(), { ok: false, domains: [{ state: 'expired' }] });
});

test('a verifier without policy keeps to it too', async (t) => {
  const authority = await createTestAuthority();
  const { keys, issuer, clock } = authority;
  const rules = { issuers: [issuer], audiences: ['catalog'], requireBound: false };
  using verifier = await TokenVerifier.open({ keys, clock, ...rules });
  const token = await authority.token({ domain: 'catalog', roles: ['reader'], expiresInSeconds: 60 });
  t.is((await verifier.verify({ token })).kind, 'valid');
  clock.advance(minute);
  t.is((await verifier.verify({ token })).kind, 'expired');
  clock.advance(-5 * minute);
  t.is((await verifier.verify({ token })).kind, 'expired');
});

test('a clock that is set back by hours was wrong before: its new time counts', async (t) => {
  const { authority, engine, decide } = await world(t);
  authority.clock.advance(120 * minute);
  const late = await authority.token({ domain: 'catalog', roles: ['reader'], expiresInSeconds: -1 });
  t.is(await decide(late), 'DENY_TOKEN_EXPIRED');
  authority.clock.advance(-120 * minute);
  const fresh = await authority.token({ domain: 'catalog', roles: ['reader'] });
  t.is(await decide(fresh), 'ALLOW');
  t.is(engine.health().clockSetBackMs, undefined);
});

test('a clock behind the time at which the policy was issued is told', async (t) => {
  const { authority, engine } = await world(t);
  t.like(engine.health(), { ok: true, domains: [{ ageMs: 0 }] });
  authority.clock.advance(-120 * minute);
  t.like(engine.health(), {
    ok: false,
    domains: [
      {
        state: 'fresh',
        ageMs: 0,
        error: {
          code: 'bundle-not-yet-valid',
          message: 'bundle was issued in the future; is the clock of this host right?',
        },
      },
    ],
  });
});
