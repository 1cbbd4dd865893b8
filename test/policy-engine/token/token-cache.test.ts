import { type CryptoKey, type KeySource, staticKeys } from '@signet/policy-engine';
import { createTestAuthority } from '@signet/policy-engine/testing';
import test from 'ava';
import { internals } from '../../limits/row.ts';

interface Cache {
  readonly size: number;
  get(text: string, now: number, revision: number | undefined): object | undefined;
  set(text: string, token: object, now: number, revision: number | undefined): void;
  clear(): void;
}
const { TokenCache } = await internals<{
  TokenCache: new (maxEntries: number, maxCharacters?: number) => Cache;
}>('policy-engine/src/token/token-cache.ts');
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

const verified = { expires: 1000 };

test('the cache holds as many characters as it may, whatever the number of tokens', (t) => {
  const cache = new TokenCache(10, 8);
  const kept = () =>
    ['aaaa', 'bbbb', 'c', 'dddddddd', 'eeeeeeeee'].filter((text) => cache.get(text, 0, 1) !== undefined);
  cache.set('aaaa', verified, 0, 1);
  cache.set('bbbb', verified, 0, 1);
  t.deepEqual(kept(), ['aaaa', 'bbbb']);
  cache.set('bbbb', verified, 0, 1);
  t.deepEqual(kept(), ['aaaa', 'bbbb'], 'the same text counts once');
  cache.set('c', verified, 0, 1);
  t.deepEqual(kept(), ['bbbb', 'c']);
  cache.set('dddddddd', verified, 0, 1);
  t.deepEqual(kept(), ['dddddddd']);
  cache.set('eeeeeeeee', verified, 0, 1);
  t.deepEqual([kept(), cache.size], [[], 0], 'one that is too long is not kept');
  cache.set('aaaa', verified, 0, 1);
  cache.clear();
  cache.set('dddddddd', verified, 0, 1);
  t.deepEqual(kept(), ['dddddddd']);
});

test('of tokens that end alike, none passes for another one or takes it away unverified', (t) => {
  const cache = new TokenCache(10, 100);
  const end = '.signature-that-is-the-same';
  const first = { expires: 1000 };
  const second = { expires: 1000 };
  cache.set(`first${end}`, first, 0, 1);
  t.is(cache.get(`second${end}`, 0, 1), undefined);
  t.is(cache.get(`first${end}`, 0, 1), first);
  cache.set(`second${end}`, second, 0, 1);
  t.is(cache.get(`second${end}`, 0, 1), second);
  t.is(cache.get(`first${end}`, 0, 1), undefined);
  t.is(cache.size, 1);
  cache.set('x'.repeat(100 - `second${end}`.length), first, 0, 1);
  t.is(cache.size, 2, 'the characters of the one that was replaced count no more');
});

test('the cache holds no token where none may be held', (t) => {
  for (const maxEntries of [0, -1]) {
    const cache = new TokenCache(maxEntries);
    cache.set('a', verified, 0, 1);
    t.is(cache.size, 0);
  }
});

test('a token is kept for the revision of the keys that it was verified with, until its end or for a minute', (t) => {
  const ages: [revision: number | undefined, now: number, isKept: boolean][] = [
    [1, 999_999, true],
    [1, 1_000_000, false],
    [undefined, 59_999, true],
    [undefined, 60_000, false],
  ];
  for (const [revision, now, isKept] of ages) {
    const cache = new TokenCache(2);
    cache.set('a', verified, 0, revision);
    t.is(cache.get('a', now, revision) !== undefined, isKept, `${revision} ${now}`);
    t.is(cache.size, isKept ? 1 : 0);
    cache.set('a', verified, 0, revision);
    t.is(cache.get('a', 0, 2), undefined);
    t.is(cache.size, 0);
  }
});
