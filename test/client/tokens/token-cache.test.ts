import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { temporaryFolder } from '#support/temp';
import { internals } from '../../limits/row.ts';

/* While a kept token is used again, and what a file of them does to it. */

const { isReusable } = await internals<{ isReusable(now: number, expiresAt: number, lifetime: number): boolean }>(
  'client/src/tokens/is-reusable.ts',
);
interface Token {
  token: { accessToken: string; tokenType: 'Bearer'; scope: string[]; expiresAt: number };
  lifetimeMs: number;
}
interface Cache {
  readonly problem: { readonly code: string } | undefined;
  get(key: string, now: number): Promise<Token['token'] | undefined>;
  set(key: string, token: Token, now: number): Promise<void>;
  delete(key: string, accessToken: string): void;
  clear(): void;
  close(): Promise<void>;
}
const { TokenCache } = await internals<{ TokenCache: new (size: number, file: string | undefined) => Cache }>(
  'client/src/tokens/token-cache.ts',
);
const token = (accessToken: string): Token => ({
  token: { accessToken, tokenType: 'Bearer', scope: [], expiresAt: 1000 },
  lifetimeMs: 1000,
});

test('a token is used again while a quarter of its life is left', (t) => {
  t.true(isReusable(750, 1000, 1000));
  t.false(isReusable(751, 1000, 1000));
  t.false(isReusable(1000, 1000, 0));
  t.true(isReusable(999, 1000, 0));
  t.false(isReusable(1001, 1000, -100));
});

test('a kept token comes back until it is too old, forgotten by its own text, or cleared', async (t) => {
  const cache = new TokenCache(2, undefined);
  t.is(await cache.get('a', 0), undefined);
  await cache.set('a', token('x'), 0);
  t.is((await cache.get('a', 750))?.accessToken, 'x');
  cache.delete('a', 'y');
  t.is((await cache.get('a', 0))?.accessToken, 'x');
  cache.delete('a', 'x');
  t.is(await cache.get('a', 0), undefined);
  await cache.set('a', token('x'), 0);
  t.is(await cache.get('a', 751), undefined);
  t.is(await cache.get('a', 0), undefined, 'it was dropped');
  await cache.set('a', token('x'), 0);
  cache.clear();
  t.is(await cache.get('a', 0), undefined);
});

test('tokens of the file come with the first question, and a file that cannot be used is told and costs nothing', async (t) => {
  const file = join(temporaryFolder(t), 'tokens.json');
  const first = new TokenCache(2, file);
  await first.set('a', token('x'), 0);
  await first.close();
  const second = new TokenCache(2, file);
  t.is((await second.get('a', 0))?.accessToken, 'x');
  t.is(second.problem, undefined);
  second.clear();
  t.is(await second.get('a', 0), undefined, 'the file is read once');

  const open = join(temporaryFolder(t), 'open.json');
  writeFileSync(open, '{}', { mode: 0o644 });
  const third = new TokenCache(2, open);
  t.is(await third.get('a', 0), undefined);
  t.is(third.problem?.code, 'invalid-cache');
  await third.set('a', token('x'), 0);
  t.is((await third.get('a', 0))?.accessToken, 'x');
  t.is(third.problem?.code, 'invalid-cache');
});
