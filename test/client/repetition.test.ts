import { formatTimestamp } from '@signet/policy-engine/clock';
import test from 'ava';
import { answer, type Respond, startTlsServer } from './support/tls-server.ts';
import { clientWorld, failure } from './support/world.ts';

const ask = { action: 'read', resource: 'catalog:movie' };
const granted: Respond = (_, response) => answer(response, 200, { granted: true });
const quick = { retries: 2, random: () => 0 };

/** Fails `times` times, then answers. */
function after(times: number, fail: Respond): Respond {
  let left = times;
  return (request, response) => {
    left -= 1;
    return left < 0 ? granted(request, response) : fail(request, response);
  };
}

const status =
  (code: number, headers: Record<string, string> = {}): Respond =>
  (_, response) =>
    answer(response, code, { code, message: 'no' }, headers);

const repeated: readonly (readonly [name: string, fail: Respond, times: number, requests: number, ok: boolean])[] = [
  ['500', status(500), 2, 3, true],
  ['502', status(502), 1, 2, true],
  ['503', status(503), 2, 3, true],
  ['503 three times', status(503), 3, 3, false],
  ['503 for now', status(503, { 'retry-after': '0' }), 1, 2, true],
  ['503 for an hour', status(503, { 'retry-after': '3600' }), 1, 1, false],
  ['a connection that breaks, and its replacement', (_, response) => void response.destroy(), 4, 5, true],
  ['429', status(429), 1, 1, false],
  [
    '429 for now: the caller asked too much, and is told when to come back',
    status(429, { 'retry-after': '0' }),
    1,
    1,
    false,
  ],
  ['400', status(400), 1, 1, false],
  ['401', status(401), 1, 1, false],
  ['403', status(403), 1, 1, false],
  ['404', status(404), 1, 1, false],
  ['302', status(302), 1, 1, false],
  ['an answer that is not JSON', (_, response) => void response.writeHead(200).end('x'), 1, 1, false],
];

for (const [name, fail, times, requests, ok] of repeated) {
  test(`after ${name}: ${requests} requests`, async (t) => {
    const { client, server } = await clientWorld(t, after(times, fail), quick);
    if (ok) t.true(await client.access.check(ask));
    else await failure(client.access.check(ask));
    t.is(server.requests.length, requests);
  });
}

test('the time to come back may be a date', async (t) => {
  let at = '';
  const { client, clock } = await clientWorld(t, (request, response) =>
    status(503, { 'retry-after': at })(request, response),
  );
  clock.set(1_767_225_600_000);
  t.is(formatTimestamp(clock.now()), '2026-01-01T00:00:00.000Z');
  for (const [text, seconds] of [
    ['Thu, 01 Jan 2026 00:01:30 GMT', 90],
    ['Wed, 31 Dec 2025 23:59:00 GMT', 0],
    ['Fri, 01 Jan 2038 00:00:00 GMT', 86_400],
    ['Thu, 01 Jam 2026 00:01:30 GMT', undefined],
    ['Thu, 41 Jan 2026 00:01:30 GMT', undefined],
    ['2026-01-01', undefined],
  ] as const) {
    at = text;
    t.is((await failure(client.access.check(ask)))['retryAfterSeconds'], seconds, text);
  }
});

test('a pause ends when the caller aborts and when the client is closed', async (t) => {
  const { connect, server } = await clientWorld(t, status(503, { 'retry-after': '20' }), quick);
  const aborting = connect();
  const abort = new AbortController();
  server.respond = (request, response) => {
    setImmediate(() => abort.abort());
    return status(503, { 'retry-after': '20' })(request, response);
  };
  t.is((await failure(aborting.access.check({ ...ask, signal: abort.signal })))['code'], 'aborted');
  const closing = connect();
  server.respond = (request, response) => {
    setTimeout(() => void closing.close(), 50);
    return status(503, { 'retry-after': '20' })(request, response);
  };
  t.is((await failure(closing.access.check(ask)))['code'], 'closed');
});

test('with several servers the first that answers is used, and one that failed is left alone for a while', async (t) => {
  const world = await clientWorld(t, granted);
  const identity = await world.pki.issue('sys.auth.server', ['localhost']);
  const second = await startTlsServer(t, { identity, ca: world.pki.ca, respond: granted });
  const client = world.connect({ baseUrl: [world.server.baseUrl, second.baseUrl], retries: 0 });
  const counts = () => [world.server.requests.length, second.requests.length];
  t.true(await client.access.check(ask));
  t.deepEqual(counts(), [1, 0]);
  world.server.respond = status(503);
  t.true(await client.access.check(ask));
  t.true(await client.access.check(ask));
  t.deepEqual(counts(), [2, 2]);
  world.server.respond = granted;
  world.clock.advance(31_000);
  t.true(await client.access.check(ask));
  t.deepEqual(counts(), [3, 2]);
  await world.server.close();
  t.true(await client.access.check(ask));
  second.respond = status(403);
  t.is((await failure(client.access.check(ask)))['status'], 403);
  await second.close();
  t.is((await failure(client.access.check(ask)))['code'], 'unreachable');
});

test('an address of IPv6', async (t) => {
  const world = await clientWorld(t, granted);
  const error = await failure(world.connect({ baseUrl: 'https://[::1]:1/v1' }).access.check(ask));
  t.is(error['code'], 'unreachable');
  t.regex(String(error['message']), /^`\[::1\]:1` cannot be reached/);
});
