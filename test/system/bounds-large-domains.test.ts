import test from 'ava';
import { assertWithin, costOf, costsAreKnown, slowness } from '#support/cost';
import { install, serve } from '#support/signet-program';

/* Every rule was compared with every role, twice: at this size for five seconds, at that of the quotas for minutes. */
test('a policy of a domain with many roles and rules costs little more than it takes to store it', async (t) => {
  t.timeout(120_000);
  if (!costsAreKnown) return t.pass('processor time is known on Linux only');
  const names = Array.from({ length: 1000 }, (_, index) => `r${'a'.repeat(40)}${index}`);
  const roles = Object.fromEntries(names.map((name) => [name, []]));
  const at = await install(t, {
    domains: [{ name: 'media', roles: { admin: ['media.boss'], ...roles }, services: { boss: {} } }],
  });
  const server = await serve(t, at);
  const boss = server.as(await at.pki.identity('media.boss'));
  const rules = (action: string) =>
    Array.from({ length: 2000 }, (_, index) => ({ role: names[index % 1000], action, resource: `x${index}` }));
  const put = (action: string) =>
    boss('^/management/v1/domains/media/policies/data', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(rules(action)),
    });
  t.is((await put('read')).status, 201);
  const before = costOf(server.pid).processorMs;
  t.is((await put('manage_*')).status, 200);
  assertWithin(t, 'processor time of the change', (costOf(server.pid).processorMs - before) / slowness(), 2000, 'ms');
});
