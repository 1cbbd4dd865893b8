import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JwkList, PolicyEngine, TokenVerifier } from '@signet/policy-engine';
import { TokenVerifier as CoreTokenVerifier } from '@signet/policy-engine/core';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';
import { SignJWT } from 'jose';
import { temporaryFolder } from '#support/temp';

/* Optional rules of a verifier beyond the standards, and the effect of one odd key on the others. */

const authority = await createTestAuthority();
const { clock } = authority;
const now = Math.floor(clock.now() / 1000);
const policies = [{ name: 'p', assertions: [{ role: 'reader', action: 'read', resource: 'movie' }] }];
const asked = { action: 'read', resource: 'catalog:movie' };
const rules = { issuers: [authority.issuer], audiences: ['catalog'], clock, requireBound: false };
const usual = { domain: 'catalog', roles: ['reader'] };

const odd = [
  null,
  { kty: 'OKP', kid: 'odd', crv: 'Ed25519', x: 'AA' },
  { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' },
  { ...authority.keys.keys[0], x: authority.keys.keys[1]?.x, y: authority.keys.keys[1]?.y },
];
const withOdd = { keys: [...authority.keys.keys, ...odd] } as JwkList;

/** Each way to give keys to something that verifies tokens, and what it then says. */
const doors: Record<string, (folder: string) => Promise<{ status: string; leftOut: readonly string[] | undefined }>> = {
  verifier: async () => {
    using verifier = await TokenVerifier.open({ keys: withOdd, ...rules });
    const { kind } = await verifier.verify({ token: await authority.token(usual) });
    return { status: kind, leftOut: verifier.keysLeftOut };
  },
  core: async () => {
    using verifier = await CoreTokenVerifier.open({ keys: withOdd, ...rules });
    const { kind } = await verifier.verify({ token: await authority.token(usual) });
    return { status: kind, leftOut: verifier.keysLeftOut };
  },
  memory: async () => statusOf(authority.engine({ catalog: policies }, { keys: withOdd, requireBound: false })),
  directory: async (policyDir) => {
    await authority.writeBundle(policyDir, { domain: 'catalog', policies });
    writeFileSync(join(policyDir, 'keys.json'), JSON.stringify({ issuer: authority.issuer, ...withOdd }));
    return statusOf(await PolicyEngine.open({ policyDir, clock, watch: false, requireBound: false }));
  },
  file: async (policyDir) => {
    await authority.writeBundle(policyDir, { domain: 'catalog', policies });
    const keys = join(policyDir, 'others.json');
    writeFileSync(keys, JSON.stringify(withOdd));
    return statusOf(await PolicyEngine.open({ policyDir, keys, clock, watch: false, requireBound: false }));
  },
};

async function statusOf(engine: PolicyEngine) {
  const { status } = await engine.decide({ token: await authority.token(usual), ...asked });
  const { ok, keysLeftOut } = engine.health();
  await engine.close();
  return { status: ok ? status : 'unhealthy', leftOut: keysLeftOut };
}

for (const [name, open] of Object.entries(doors)) {
  test(`${name}: one odd key is left out and told, the others count`, async (t) => {
    const { status, leftOut } = await open(temporaryFolder(t));
    t.true(status === 'ALLOW' || status === 'valid', status);
    t.deepEqual(leftOut, [
      'key 3 of the set is not an object',
      'key `odd` is of an unknown type (`kty`)',
      'key 5 of the set has no `kid`',
      `key \`${authority.keys.keys[0]?.kid}\` has the name of one before it`,
    ]);
  });
}

test('a key file with odd keys only does not take the place of the one before', async (t) => {
  const policyDir = temporaryFolder(t);
  await authority.writeBundle(policyDir, { domain: 'catalog', policies });
  await using engine = await PolicyEngine.open({ policyDir, clock, watch: false, requireBound: false });
  const token = await authority.token(usual);
  writeFileSync(join(policyDir, 'keys.json'), JSON.stringify({ issuer: authority.issuer, keys: odd.slice(0, 3) }));
  await engine.refresh();
  t.is((await engine.decide({ token, ...asked })).status, 'ALLOW');
  t.regex(engine.health().error?.message ?? '', /holds no usable key: key 1 of the set is not an object$/);
});

test('health says nothing of keys where none is left out', (t) => {
  t.false('keysLeftOut' in authority.engine({ catalog: policies }).health());
});

test('`minRsaBits` refuses tokens of shorter keys', async (t) => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'r', alg: 'RS256', use: 'sig' }] } as JwkList;
  const claims = { iss: authority.issuer, aud: 'catalog', sub: 's', client_id: 's', jti: 'j', iat: now, exp: now + 60 };
  const token = await new SignJWT({ ...claims, scp: ['reader'] })
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: 'r' })
    .sign(privateKey);
  const kinds = async (minRsaBits: number) => {
    using verifier = await TokenVerifier.open({ keys, ...rules, minRsaBits });
    using core = await CoreTokenVerifier.open({ keys, ...rules, minRsaBits });
    const engine = authority.engine({ catalog: policies }, { keys, requireBound: false, minRsaBits });
    const [one, other] = [await verifier.verify({ token }), await core.verify({ token })];
    return [one.kind, other.kind, (await engine.decide({ token, ...asked })).status];
  };
  t.deepEqual(await kinds(2048), ['valid', 'valid', 'ALLOW']);
  t.deepEqual(await kinds(2049), ['invalid', 'invalid', 'DENY_TOKEN_INVALID']);
});

const lives: [note: string, claims: object, more: object, outcome: string][] = [
  ['no bound', { exp: now + 1e9 }, { maxTokenLifeSeconds: undefined }, 'valid'],
  ['exactly the bound', { exp: now + 100 }, {}, 'valid'],
  ['a second more', { exp: now + 101 }, {}, 'lifetime'],
  ['near its end, of a long life', { iat: now - 1000, exp: now + 1 }, {}, 'lifetime'],
  ['past its end, of a long life', { iat: now - 1000, exp: now - 1 }, {}, 'lifetime'],
  ['no time of issue, within the bound from now', { iat: undefined, exp: now + 99 }, { legacyTypes: true }, 'valid'],
  ['no time of issue, past it', { iat: undefined, exp: now + 102 }, { legacyTypes: true }, 'lifetime'],
];
for (const [note, claims, more, expected] of lives) {
  test(`a token's life: ${note}`, async (t) => {
    const options = { keys: authority.keys, ...rules, maxTokenLifeSeconds: 100, ...more };
    const token = await authority.token({ ...usual, claims: { ...claims } });
    using verifier = await TokenVerifier.open(options as never);
    const outcome = await verifier.verify({ token });
    t.is<string, string>(outcome.kind === 'invalid' ? outcome.fault : outcome.kind, expected);
    const engine = authority.engine({ catalog: policies }, options as never);
    const { status } = await engine.decide({ token, ...asked });
    t.is(status, expected === 'valid' ? 'ALLOW' : 'DENY_TOKEN_INVALID');
  });
}

test('`iat`, `jti` and `client_id` may be missing where older tokens are taken, not be empty texts of another type', async (t) => {
  const verify = async (claims: object, legacyTypes: boolean) => {
    using verifier = await TokenVerifier.open({ keys: authority.keys, ...rules, legacyTypes });
    return (await verifier.verify({ token: await authority.token({ ...usual, claims: { ...claims } }) })).kind;
  };
  for (const name of ['iat', 'jti', 'client_id']) {
    t.is(await verify({ [name]: undefined }, false), 'invalid', name);
    t.is(await verify({ [name]: undefined }, true), 'valid', name);
    t.is(await verify({ [name]: {} }, true), 'invalid', name);
  }
});

const wrong: readonly (readonly [name: string, must: string, values: readonly unknown[]])[] = [
  ['minRsaBits', 'an integer, 2048 or more', [2047, 0, Number.NaN, 2048.5, '3072', null]],
  ['maxTokenLifeSeconds', 'an integer, 1 or more', [0, -1, Number.POSITIVE_INFINITY, 1.5, '60', null]],
  ['skewSeconds', 'an integer, 0 or more', [-1, Number.NaN, Number.POSITIVE_INFINITY, '60', null]],
  ['maxCachedTokens', 'an integer, 0 or more', [-1, Number.NaN, Number.POSITIVE_INFINITY, '60', null]],
  ...['requireBound', 'legacyTypes', 'roleInAudience'].map(
    (name) => [name, 'true or false', ['false', 0, null, {}]] as const,
  ),
];
for (const [name, must, values] of wrong) {
  test(`refused at the start: \`${name}\` that is not ${must}`, async (t) => {
    for (const value of values) {
      const expected = { code: 'invalid-options', message: `\`${name}\` must be ${must}` };
      const given = { [name]: value, keys: authority.keys } as object;
      const policyDir = temporaryFolder(t);
      await t.throwsAsync(TokenVerifier.open({ ...rules, ...given } as never), expected as never);
      await t.throwsAsync(CoreTokenVerifier.open({ ...rules, ...given } as never), expected as never);
      await t.throwsAsync(PolicyEngine.open({ policyDir, ...given }), expected as never);
      t.throws(() => PolicyEngine.fromDomains({}, given), expected as never);
    }
  });
}
