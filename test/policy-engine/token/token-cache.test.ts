import { type CryptoKey, type KeySource, staticKeys } from '@signet/policy-engine';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';

const domains = {
  catalog: [{ name: 'catalog:policy.p', assertions: [{ role: 'reader', action: 'read', resource: 'catalog:movie' }] }],
};
const request = { action: 'read', resource: 'catalog:movie' };

/** Counts look-ups, and can withdraw all keys. */
function countingKeys(source: KeySource): KeySource & { finds: number; revision: number; withdrawn: boolean } {
  return {
    finds: 0,
    revision: 1,
    withdrawn: false,
    async find(kid, purpose): Promise<CryptoKey | undefined> {
      this.finds += 1;
      return this.withdrawn ? undefined : source.find(kid, purpose);
    },
  };
}

test('a verified token is verified once, until its key is withdrawn', async (t) => {
  const authority = await createTestAuthority();
  const keys = countingKeys(staticKeys(authority.keys));
  const engine = authority.engine(domains, { keys, requireBound: false });
  const token = await authority.token({ domain: 'catalog', roles: ['reader'] });
  for (let round = 0; round < 5; round += 1) t.is((await engine.decide({ ...request, token })).status, 'ALLOW');
  t.is(keys.finds, 1);
  keys.withdrawn = true;
  keys.revision += 1;
  t.is((await engine.decide({ ...request, token })).status, 'DENY_TOKEN_INVALID');
});

test('with keys that cannot tell of a withdrawal, a token is verified again after a minute', async (t) => {
  const authority = await createTestAuthority();
  const source = staticKeys(authority.keys);
  let isWithdrawn = false;
  const keys: KeySource = { find: async (kid, purpose) => (isWithdrawn ? undefined : source.find(kid, purpose)) };
  const engine = authority.engine(domains, { keys, requireBound: false });
  const token = await authority.token({ domain: 'catalog', roles: ['reader'] });
  t.is((await engine.decide({ ...request, token })).status, 'ALLOW');
  isWithdrawn = true;
  authority.clock.advance(59_999);
  t.is((await engine.decide({ ...request, token })).status, 'ALLOW');
  authority.clock.advance(1);
  t.is((await engine.decide({ ...request, token })).status, 'DENY_TOKEN_INVALID');
});

test('the cache holds as many tokens as it may, and the newest of them', async (t) => {
  const authority = await createTestAuthority();
  const keys = countingKeys(staticKeys(authority.keys));
  const engine = authority.engine(domains, { keys, requireBound: false, maxCachedTokens: 2 });
  const tokens = await Promise.all(
    ['a', 'b', 'c'].map((principal) => authority.token({ domain: 'catalog', roles: ['reader'], principal })),
  );
  for (const token of tokens) await engine.decide({ ...request, token });
  t.is(keys.finds, 3);
  for (const token of tokens.slice(1)) await engine.decide({ ...request, token });
  t.is(keys.finds, 3);
  await engine.decide({ ...request, token: tokens[0] ?? '' });
  t.is(keys.finds, 4);
});

test('a failing key source denies and is asked again', async (t) => {
  const authority = await createTestAuthority();
  const source = staticKeys(authority.keys);
  let fails = true;
  const keys: KeySource = {
    find: async (kid, purpose) => {
      if (fails) throw new Error('out of order');
      return source.find(kid, purpose);
    },
  };
  const engine = authority.engine(domains, { keys, requireBound: false });
  const token = await authority.token({ domain: 'catalog', roles: ['reader'] });
  t.is((await engine.decide({ ...request, token })).status, 'DENY_TOKEN_INVALID');
  fails = false;
  t.is((await engine.decide({ ...request, token })).status, 'ALLOW');
});
