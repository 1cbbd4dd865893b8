import { setImmediate as nextTurn } from 'node:timers/promises';
import { createClient } from '@signet/client';
import { systemClock } from '@signet/policy-engine/clock';
import test from 'ava';
import { startDevWorld } from '#support/dev-world';

/* The caching rule (docs/reference/tokens.md#caching-in-clients), watched from outside against the running system. */

const askedLifeSeconds = 8;

test('a kept token is handed out while a quarter of its asked-for life remains, and not after', async (t) => {
  const world = await startDevWorld();
  t.teardown(() => world.remove());
  const { baseUrl, caBundle, identities } = world.state;
  const { cert = '', key = '' } = identities['media.player'] ?? {};
  await using client = createClient({ baseUrl, caBundle, certificate: cert, key });
  const ask = () => client.tokens.get({ domain: 'catalog', expiresIn: askedLifeSeconds });
  const first = await ask();
  for (;;) {
    const before = systemClock.now();
    const token = await ask();
    const after = systemClock.now();
    if (token.accessToken === first.accessToken) {
      t.true(first.expiresAt - before >= (askedLifeSeconds * 1000) / 4);
      await nextTurn();
      continue;
    }
    t.true(first.expiresAt - after < (askedLifeSeconds * 1000) / 4);
    return;
  }
});
