import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { createClient } from '@signet/client';
import { PolicyEngine } from '@signet/policy-engine';
import test from 'ava';
import { decodeProtectedHeader } from 'jose';
import { assertWithin } from '#support/cost';
import { startDevWorld } from '#support/dev-world';
import { until } from '#support/until';

/* A rotation in a hurry, and a compromised key, while two hosts verify: with the keys that the updater brings, and with those they fetch. */

/** Interval at which the second host fetches keys; the default is 300 s, and the updater's once a minute. */
const lookMs = 1000;

test('no token of another key is refused, and those of the compromised one are at the next look for keys', async (t) => {
  t.timeout(240_000);
  const world = await startDevWorld();
  t.teardown(() => world.remove());
  const { baseUrl, caBundle, identities, policyDir } = world.state;
  const { cert = '', key = '' } = identities['media.studio'] ?? {};
  await using client = createClient({ baseUrl, caBundle, certificate: cert, key });
  await using engine = await PolicyEngine.open({ policyDir, domains: ['catalog'] });
  const certificate = readFileSync(cert, 'utf8');
  const tls = { ca: readFileSync(caBundle, 'utf8'), cert: certificate, key: readFileSync(key, 'utf8') };
  const url = `${baseUrl}/oauth2/keys?rfc=true`;
  const remote = { url, tls, refreshIntervalMs: lookMs };
  await using fetching = await PolicyEngine.open({ policyDir, domains: ['catalog'], keys: remote });
  const signet = async (...args: readonly string[]) => {
    const { status, stdout, stderr } = await world.signet(...args, '--config', join(world.folder, 'signet.yaml'));
    t.is(status, 0, stderr);
    return stdout;
  };
  /** Token ids of keys, and one token of each. */
  const tokens = new Map<string, string>();
  const refused = new Map<string, number>();
  let verified = 0;
  let life = 3600;
  const fetchToken = async () => {
    life += 1;
    const { accessToken } = await client.tokens.get({ domain: 'catalog', expiresIn: life });
    const kid = String(decodeProtectedHeader(accessToken).kid);
    tokens.set(kid, accessToken);
    return kid;
  };
  const verify = async (kid: string, token: string) => {
    for (const each of [engine, fetching]) {
      const { status } = await each.decide({ token, certificate, action: 'read', resource: 'catalog:movie' });
      verified += 1;
      if (status !== 'ALLOW') refused.set(kid, (refused.get(kid) ?? 0) + 1);
    }
  };
  let isOver = false;
  let isFailed = true;
  t.teardown(() => {
    if (isFailed) verified = Number.POSITIVE_INFINITY;
    isOver = true;
  });
  const verifying = (async () => {
    for (; !isOver || verified < 10_000; await turn()) {
      for (const [kid, token] of tokens) await verify(kid, token);
    }
  })();

  const first = await fetchToken();
  // Bundles signed by the new key are taken as well.
  await signet('keys', 'rotate', '--now');
  const second = await until('the next key signs', async () => {
    const kid = await fetchToken();
    return kid === first ? undefined : kid;
  });
  await until('it has verified with both', () => verified > 3000, 60_000);
  t.deepEqual(refused, new Map());

  const start = performance.now();
  await signet('keys', 'compromised', second);
  const third = await until('another key signs', async () => {
    const kid = await fetchToken();
    return kid === second ? undefined : kid;
  });
  await until('its tokens are refused', () => refused.has(second), 90_000);
  assertWithin(t, 'until the tokens of the compromised key are refused', (performance.now() - start) / 1000, 62, 's');
  isFailed = false;
  isOver = true;
  await verifying;
  t.log(
    `${verified} verifications with ${tokens.size} keys; ${refused.get(second)} refused, all of the compromised one`,
  );
  const others = [...refused].filter(([kid]) => kid !== second).reduce((sum, [, count]) => sum + count, 0);
  assertWithin(t, 'tokens of other keys refused', others, 0);
  t.true(verified >= 10_000);
  t.true(tokens.has(third));
  const { domains } = engine.health();
  t.deepEqual(
    domains.flatMap(({ error }) => (error === undefined ? [] : [error])),
    [],
  );
  t.is(world.errors(), '');
});
