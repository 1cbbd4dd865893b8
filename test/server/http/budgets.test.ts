import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { type Caller, caller, form, startServer, type TestServer, wholeFile } from '#support/start-server';

/*
 * Small budgets on a clock that stands still until it is told to go on. A principal has 100 ms of work at once and 10 ms a second after that, its
 * certificates half of it each; strangers have as much, an address half of it.
 */
const time = { now: 1_000_000 };
const group = { workMsPerSecond: 10, burstMs: 100, inFlight: 8, share: 0.5 };
const options = { 'budgets.principal': group, 'budgets.strangers': group, 'budgets.refusalDelayMs': 0 };

const file = wholeFile();
const server = await start(options);
test.after.always('end', () => file.end());

function start(more: Readonly<Record<string, unknown>>): Promise<TestServer> {
  return startServer(file, {
    domains: [
      { name: 'media', roles: { reader: ['media.player'] }, services: { player: {}, studio: {}, guest: {} } },
      { name: 'one', services: { api: {} } },
    ],
    options: more,
    monotonic: () => time.now,
  });
}

const as = async (name: string, on = server) => caller(file, on, await on.pki.identity(name));

const keys = '/oauth2/keys';

/** Asks until the answer is 429, and answers it; far more often than the budget has room for. */
async function exhaust(call: Caller, path = keys) {
  for (let count = 0; count < 2000; count += 1) {
    const answer = await call(path);
    if (answer.status === 429) return { answer, count };
  }
  throw new Error('was never refused');
}

/** True if an answer comes before a hundred others have come over an open connection. */
async function isAnswered(answer: Promise<unknown>, kept: Caller): Promise<boolean> {
  let isThere = false;
  const note = () => {
    isThere = true;
  };
  void answer.then(note, note);
  for (let count = 0; count < 100 && !isThere; count += 1) await kept(keys);
  return isThere;
}

test.serial(
  'a certificate that asks without end is refused with 429 and the time when to come back, the others are not',
  async (t) => {
    const looping = await as('media.player');
    const { answer, count } = await exhaust(looping);
    // 50 ms of work, one handshake of 3 ms, and 150 µs a request.
    t.true(count > 200 && count < 400, String(count));
    t.deepEqual(answer.body, {
      code: 429,
      message: 'the rate limit of this certificate is exceeded, try again in 1 s',
    });
    t.is(answer.headers['retry-after'], '1');
    t.is((await (await as('media.player'))(keys)).status, 200, 'another certificate of the same principal');
    t.is((await (await as('media.studio'))(keys)).status, 200, 'another principal');
    time.now += 1000;
    t.is((await looping(keys)).status, 200);
  },
);

test.serial('the budget comes before the request is read, and the token endpoint says it as OAuth does', async (t) => {
  const looping = await as('media.guest');
  await exhaust(looping);
  const answer = await looping('/oauth2/token', form('no=sense'));
  t.is(answer.status, 429);
  t.like(answer.body, { code: 429, error: 'temporarily_unavailable' });
  t.is((await looping('/nowhere')).status, 429);
});

test.serial('probes are answered whatever the address has used up', async (t) => {
  const own = await start({ ...options, anonymousKeys: true });
  const stranger = caller(file, own);
  const { answer } = await exhaust(stranger);
  t.deepEqual(answer.body, { code: 429, message: 'the rate limit of this address is exceeded, try again in 1 s' });
  for (const path of ['^/healthz', '^/readyz', '/healthz']) {
    const probe = await stranger(path);
    t.is(probe.status, 200, path);
    t.is(probe.headers['connection'], 'close', 'more than that takes a connection, which is refused');
    time.now += 2000;
    await stranger('^/healthz');
    await exhaust(stranger);
  }
});

test.serial(
  'who has no certificate pays by address, is cut off after its last answer, and its connections wait until the debt is over',
  async (t) => {
    const own = await start({ ...options, 'budgets.principal': { ...group, burstMs: 10_000 } });
    const stranger = caller(file, own);
    const kept = await as('media.player', own);
    t.is((await kept(keys)).status, 200);
    const untilClosed = async () => {
      for (let count = 0; count < 1000; count += 1) {
        const { status, headers } = await stranger(keys);
        t.is(status, 401);
        if (headers['connection'] === 'close') return;
      }
      t.fail('is never cut off');
    };
    await untilClosed();
    // What is kept for those that wait is one handshake here.
    await untilClosed();
    const waiting = stranger(keys);
    const other = (await as('media.studio', own))(keys);
    t.false(await isAnswered(waiting, kept));
    t.false(await isAnswered(other, kept), 'nobody knows before a handshake who it is');
    t.false(
      own.log.some(({ msg }) => String(msg).startsWith('connections waited')),
      'no line for each',
    );
    time.now += 10_000;
    t.is((await waiting).status, 401);
    t.is((await other).status, 200);
  },
);

test.serial(
  'clients with certificates pay their handshakes themselves: as many as come may share an address',
  async (t) => {
    const own = await start(options);
    // The address has room for sixteen handshakes, and each of the three certificates too.
    for (const name of ['media.player', 'media.studio', 'media.guest']) {
      const identity = await own.pki.identity(name);
      for (let count = 0; count < 10; count += 1) {
        const once = caller(file, own, identity);
        t.is((await once(keys)).status, 200, `${name} ${count}`);
        once.agent.destroy();
      }
    }
  },
);

test.serial('a failed handshake is paid by its address', async (t) => {
  const own = await start({ ...options, 'budgets.principal': { ...group, burstMs: 10_000 } });
  const kept = await as('media.player', own);
  t.is((await kept(keys)).status, 200);
  const foreign = await (await import('#support/pki')).createPki();
  let served = 0;
  for (let count = 0; count < 60; count += 1) {
    const once = caller(file, own, await foreign.identity('media.player'));
    const answer = once(keys);
    const isServed = await isAnswered(answer, kept);
    served += Number(isServed);
    if (isServed) t.is((await answer).status, 401);
    once.agent.destroy();
    await answer.catch(() => undefined);
    if (!isServed) break;
  }
  t.true(served > 10 && served < 20, String(served));
});

test.serial('a request in flight counts until it is answered or given up', async (t) => {
  const own = await start({ ...options, 'budgets.principal': { ...group, burstMs: 10_000, inFlight: 2 } });
  const identity = await own.pki.identity('media.player');
  const slow = caller(file, own, identity);
  // A body that does not come.
  const url = new URL(own.baseUrl);
  const { request } = await import('node:https');
  const hanging = request({
    agent: slow.agent,
    host: url.hostname,
    port: url.port,
    method: 'POST',
    path: `${url.pathname}/oauth2/token`,
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '10' },
  });
  hanging.on('error', () => undefined);
  hanging.flushHeaders();
  const other = caller(file, own, identity);
  let refused = await other(keys);
  while (refused.status !== 429) refused = await other(keys);
  t.deepEqual(refused.body, {
    code: 429,
    message: 'this certificate has too many requests in flight, try again in 1 s',
  });
  hanging.destroy();
  let after = await other(keys);
  while (after.status !== 200) after = await other(keys);
  t.is(after.status, 200);
});

test.serial('refusals are one line when the server stops, not one each', async (t) => {
  const ending = {
    endings: [] as (() => void | Promise<void>)[],
    teardown(end: () => void | Promise<void>) {
      this.endings.unshift(end);
    },
  };
  const own = await startServer(ending, {
    domains: [{ name: 'media', services: { player: {} } }],
    options,
    monotonic: () => time.now,
  });
  const looping = caller(file, own, await own.pki.identity('media.player'));
  await exhaust(looping);
  for (let count = 0; count < 20; count += 1) t.is((await looping(keys)).status, 429);
  looping.agent.destroy();
  const lines = () =>
    own.log.filter(({ msg }) => String(msg).includes('429') || String(msg).startsWith('requests were'));
  t.deepEqual(lines(), []);
  t.false(own.log.some(({ status }) => status === 429));
  for (const end of ending.endings) await end();
  await turn();
  t.is(lines().length, 1);
  t.like(lines()[0], { refused: 21, most: { 'certificate media.player (work)': 21 } });
});

test.serial('without budgets nothing is refused', async (t) => {
  const own = await start({ ...options, 'budgets.enabled': false });
  const looping = await as('media.player', own);
  for (let count = 0; count < 600; count += 1) t.is((await looping(keys)).status, 200);
});
