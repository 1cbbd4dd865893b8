import test, { type ExecutionContext } from 'ava';
import { startBalancer } from '#support/balancer';
import { type Answering, confirm, registration, worldWith } from '#support/called-provider';
import { field, instanceDomains, instanceNames, json, keyPem } from '#support/instance-world';
import { proxyHeader } from '#support/proxy-header';
import { ecPair, type RequestedName, requestPem } from '#support/requests';
import { type CallerOptions, caller } from '#support/start-server';
import { until } from '#support/until';

/* Clients come through a balancer that says who they are, so that each may have its own address. */
async function worldBehind(t: ExecutionContext, answer: Answering, options: Readonly<Record<string, unknown>> = {}) {
  const listed = { 'listen.proxyProtocolFrom': ['127.0.0.1'], 'timeouts.drainMs': 0, ...options };
  const world = await worldWith(t, answer, listed);
  const at = async (address: string, who: CallerOptions = {}) => {
    const baseUrl = await startBalancer(t, world.baseUrl, { header: () => proxyHeader(address) });
    return caller(t, { baseUrl, pki: world.pki }, who);
  };
  return { ...world, at };
}

const refreshPath = '/instance/prov.cloud/media/player/c-1';

test('a stranger whose calls fail keeps the provider from nobody else', async (t) => {
  const world = await worldBehind(t, (call, response, request) => {
    if (JSON.stringify(call.body).includes('junk')) response.destroy();
    else confirm()(call, response, request);
  });
  const pair = ecPair();
  const first = await (await world.at('192.0.2.1'))('/instance', json(registration('c-1', pair)));
  t.is(first.status, 201, first.text);
  const stranger = await world.at('192.0.2.66');
  const junk = { ...registration('c-2'), attestationData: 'junk' };
  for (let count = 0; count < 5; count += 1) t.is((await stranger('/instance', json(junk))).status, 500);
  const asked = world.calls.length;
  t.is((await stranger('/instance', json(registration('c-2')))).status, 500);
  t.is(world.calls.length, asked, 'it is not asked for this stranger any more');
  t.is(
    (await (await world.at('192.0.2.2'))('/instance', json(registration('c-3')))).status,
    201,
    'another one registers',
  );
  const who = { certificate: String(field(first.body, 'x509Certificate')), key: keyPem(pair) };
  const refreshed = await (await world.at('192.0.2.1', who))(refreshPath, json(registration('c-1')));
  t.is(refreshed.status, 200, refreshed.text);
});

test('one address holds its share of the calls to a provider, and others register and refresh meanwhile', async (t) => {
  const world = await worldBehind(t, (call, response, request) => {
    if (!JSON.stringify(call.body).includes('slow')) confirm()(call, response, request);
  });
  const pair = ecPair();
  const first = await (await world.at('192.0.2.1'))('/instance', json(registration('c-1', pair)));
  t.is(first.status, 201, first.text);
  const slow = { ...registration('c-2'), attestationData: 'slow' };
  const held = Array.from({ length: 24 }, async () =>
    (await world.at('192.0.2.66'))('/instance', json(slow)).catch(() => undefined),
  );
  await until('all of them wait', () => world.calls.length === 25, 60_000);
  const refused = await (await world.at('192.0.2.66'))('/instance', json(slow));
  t.is(refused.status, 429, refused.text);
  const seconds = String(refused.headers['retry-after']);
  t.regex(seconds, /^[1-9]\d*$/);
  t.deepEqual(refused.body, {
    code: 429,
    message: `too many requests of this caller wait for provider \`prov.cloud\`, try again in ${seconds} s`,
  });
  t.is(world.calls.length, 25, 'the provider is not asked');
  t.is((await (await world.at('192.0.2.2'))('/instance', json(registration('c-3')))).status, 201);
  const who = { certificate: String(field(first.body, 'x509Certificate')), key: keyPem(pair) };
  t.is((await (await world.at('192.0.2.66', who))(refreshPath, json(registration('c-1')))).status, 200);
  await world.running.close();
  await Promise.all(held);
});

test('strangers behind an address that many have are told apart by their service', async (t) => {
  const world = await worldBehind(
    t,
    (call, response, request) => {
      if (!JSON.stringify(call.body).includes('slow')) confirm()(call, response, request);
    },
    { 'budgets.sharedAddresses': ['192.0.2.66'] },
  );
  const slow = { ...registration('c-2'), attestationData: 'slow' };
  const held = Array.from({ length: 24 }, async () =>
    (await world.at('192.0.2.66'))('/instance', json(slow)).catch(() => undefined),
  );
  await until('all of them wait', () => world.calls.length === 24, 60_000);
  t.is((await (await world.at('192.0.2.66'))('/instance', json(slow))).status, 429);
  const [, , media] = instanceDomains;
  const launch = ['ALLOW', 'launchers', 'launch', 'service.*'] as const;
  await world.save({ ...media, policies: { instances: [launch] } });
  const names = instanceNames('c-3').map(
    ([kind, value]): RequestedName => [kind, String(value).replaceAll('player', 'studio')],
  );
  const csr = requestPem(ecPair(), { commonNames: ['media.studio'], altNames: names });
  const studio = { ...registration('c-3'), service: 'studio', csr };
  const other = await (await world.at('192.0.2.66'))('/instance', json(studio));
  t.is(other.status, 201, other.text);
  t.is((await (await world.at('192.0.2.66'))('/instance', json(slow))).status, 429, 'all this time');
  await world.running.close();
  await Promise.all(held);
});
