import { countRefusedCredentials } from '@signet/server/compose/refused-credentials';
import type { Store } from '@signet/server/model/store';
import test from 'ava';
import { send } from '#support/management-world';
import { caller, startServer } from '#support/start-server';

test('refused credentials are one record with a count for each reason, and requests without any are none', async (t) => {
  const domains = [{ name: 'media', services: { guest: {} } }];
  const server = await startServer(t, { domains });
  const guest = caller(t, server, await server.pki.identity('media.guest'));
  const stranger = caller(t, server, await server.pki.identity('media.stranger'));
  const expired = caller(t, server, await server.pki.odd({ subject: 'CN=media.guest', selfSigned: true }));
  const nobody = caller(t, server);
  for (let round = 0; round < 3; round += 1) t.is((await stranger('/oauth2/keys')).status, 401);
  for (let round = 0; round < 2; round += 1) {
    const token = `v=S1;d=media;n=guest;t=1;e=2;s=${round}`;
    t.is((await guest('/access/read?resource=media:x', { headers: { 'svc-principal-auth': token } })).status, 401);
  }
  t.is((await expired('/oauth2/keys')).status, 401);
  t.is((await nobody('/oauth2/keys')).status, 401);
  t.is((await guest('/oauth2/keys')).status, 200);
  t.is((await guest('/instance', send('POST', {}))).status, 400);
  const records = () => server.store.audit({ limit: 10, subject: 'credentials' });
  t.deepEqual(await records(), []);
  const state = await server.store.state();
  await server.running.close();
  t.deepEqual(await server.store.state(), state, 'nobody makes plans stale without a right');
  const [record, ...others] = await records();
  t.deepEqual(others, []);
  t.like(record, { action: 'refuse-credentials', actor: 'signet serve' });
  t.deepEqual(JSON.parse(record?.after ?? ''), {
    'client certificate is not valid: it was not issued by a trusted authority': 1,
    'client certificate names no enabled service: its domain must have the service, enabled': 3,
    'principal token is not valid': 2,
  });
  t.like(await server.store.verifyAudit(), { records: 6 });
});

interface Fake {
  readonly store: Pick<Store, 'change'>;
  readonly written: Readonly<Record<string, number>>[];
  isDown: boolean;
}

function fakeStore(): Fake {
  const fake: Fake = {
    written: [],
    isDown: false,
    store: {
      async change(_context, work) {
        if (fake.isDown) throw new Error('down');
        const transaction = {
          noteRefusedCredentials: async (counts: Readonly<Record<string, number>>) => void fake.written.push(counts),
        };
        return await work(transaction as never);
      },
    },
  };
  return fake;
}

test('what cannot be written is written later, and nothing is written where nothing was refused', async (t) => {
  const fake = fakeStore();
  const errors: unknown[] = [];
  const refused = countRefusedCredentials({
    store: fake.store,
    actor: 'a',
    onError: (error) => void errors.push(error),
  });
  await refused.flush();
  t.deepEqual(fake.written, []);
  fake.isDown = true;
  refused.count('b');
  refused.count('a');
  await refused.flush();
  t.is(errors.length, 1);
  refused.count('b');
  fake.isDown = false;
  await refused.flush();
  t.deepEqual(fake.written, [{ a: 1, b: 2 }]);
  await refused.close();
  t.is(fake.written.length, 1);
});

test('the number of reasons is bounded, whatever comes', async (t) => {
  const fake = fakeStore();
  const refused = countRefusedCredentials({ store: fake.store, actor: 'a', onError: (error) => t.fail(String(error)) });
  for (let reason = 0; reason < 32; reason += 1) refused.count(`reason ${reason}`);
  refused.count('reason 31');
  refused.count('reason 32');
  refused.count('reason 33');
  await refused.close();
  const [counts = {}] = fake.written;
  t.is(Object.keys(counts).length, 33);
  t.like(counts, { 'reason 31': 2, 'other reasons': 2 });
});
