import test from 'ava';
import { instanceWorld } from '#support/instance-world';
import { send } from '#support/management-world';

const base = '^/management/v1/domains';
const domains = [
  {
    name: 'sys.auth',
    services: { operator: {} },
    roles: { admin: ['sys.auth.operator'] },
    policies: { administration: [['ALLOW', 'admin', '*', '*']] },
  },
] as const;
const behind = {
  code: 503,
  message: 'the change was saved, but a process of this server has not loaded it yet: send the request again',
};

test('a change is acknowledged only when every process follows, and so is one that is repeated', async (t) => {
  let isBehind = true;
  const peers = { refresh: () => (isBehind ? Promise.reject(new Error('slow')) : Promise.resolve()) };
  const { identity, store } = await instanceWorld(t, { domains, peers });
  const operator = await identity('sys.auth.operator');
  const make = send('POST', { domain: 'brief', admins: ['sys.auth.operator'] });
  t.deepEqual((await operator(base, make)).body, behind);
  t.true((await store.domainNames()).map(String).includes('brief'), 'it is made');
  const service = `${base}/brief/services/api`;
  for (const body of [{}, { enabled: false }]) t.deepEqual((await operator(service, send('PUT', body))).body, behind);
  for (let time = 0; time < 2; time += 1) t.deepEqual((await operator(service, send('DELETE'))).body, behind);
  t.deepEqual((await operator(`${base}/brief`, send('PUT', { enabled: false }))).body, behind);
  for (let time = 0; time < 2; time += 1) t.deepEqual((await operator(`${base}/brief`, send('DELETE'))).body, behind);
  isBehind = false;
  t.is((await operator(service, send('DELETE'))).status, 404);
  t.is((await operator(`${base}/brief`, send('DELETE'))).status, 404);
});
