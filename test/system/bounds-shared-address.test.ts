import { Agent, request } from 'node:https';
import { costs } from '@signet/server/budgets/costs';
import test, { type ExecutionContext } from 'ava';
import { assertWithin, costOf, costsAreKnown } from '#support/cost';
import { type Installation, install, type Serving, serve } from '#support/signet-program';
import type { CallerOptions } from '#support/start-server';
import { until } from '#support/until';

/*
 * Shared address 127.0.0.1, as behind a balancer that does not pass on its clients' addresses. One of them takes all that it can get over fifty
 * connections, and a hundred others open a new connection for each request.
 */

const [floodConnections, others, requestsEach] = [50, 100, 1];
const strangers = { workMsPerSecond: 30, burstMs: 100, share: 0.5 };
const principal = { workMsPerSecond: 100, burstMs: 100, share: 0.5 };
/** Reserve for waiting connections: a fifth of the strangers' budget. */
const reserved = 0.2;

const names = Array.from({ length: others }, (_, index) => `host${index}`);
const domains = [{ name: 'media', services: { ...Object.fromEntries(names.map((name) => [name, {}])), loop: {} } }];

/** Sends one request over a connection of its own; status 0 when the connection was refused or cut. */
function exchange(baseUrl: string, agent: Agent): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const sent = request(`${baseUrl}/oauth2/keys`, { agent });
  sent.on('response', (response) => {
    response.resume();
    response.once('close', () => resolve(response.statusCode ?? 0));
  });
  sent.on('error', () => resolve(0));
  sent.end();
  return promise;
}

function agentOf({ pki }: Installation, who: CallerOptions): Agent {
  const { certificate: cert, key } = who;
  // No sessions: every connection costs a whole handshake.
  return new Agent({ ca: pki.bundle, cert, key, keepAlive: false, servername: 'localhost', maxCachedSessions: 0 });
}

class Flood {
  readonly statuses = new Map<number, number>();
  #isOver = false;
  #loops: Promise<void>[] = [];
  readonly #started = performance.now();

  start(baseUrl: string, agents: readonly Agent[]): void {
    this.#loops = agents.map((agent) => this.#loop(baseUrl, agent));
  }

  /** Each had a handshake. */
  get answered(): number {
    return [...this.statuses].reduce((sum, [status, count]) => sum + (status === 0 ? 0 : count), 0);
  }

  async #loop(baseUrl: string, agent: Agent): Promise<void> {
    while (!this.#isOver) {
      const status = await exchange(baseUrl, agent);
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      if (status === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    agent.destroy();
  }

  /** Answers for how long it went on, in seconds. */
  async end(): Promise<number> {
    this.#isOver = true;
    await Promise.all(this.#loops);
    return (performance.now() - this.#started) / 1000;
  }
}

/** Each of the others asks so often over new connections. Answers how many tries were not answered with 200. */
async function askAsOthers(
  installation: Installation,
  { baseUrl }: Serving,
  identities: readonly CallerOptions[],
): Promise<number> {
  let failed = 0;
  const ask = async (who: CallerOptions) => {
    for (let count = 0; count < requestsEach; count += 1) {
      const agent = agentOf(installation, who);
      const status = await exchange(baseUrl, agent);
      if (status !== 200) failed += 1;
      agent.destroy();
    }
  };
  await Promise.all(identities.map(ask));
  return failed;
}

async function floodBeside(t: ExecutionContext, more: string, who: (at: Installation) => Promise<CallerOptions>) {
  const budgets = JSON.stringify({ principal, strangers, refusalDelayMs: 0 }).slice(0, -1);
  const timeouts = 'timeouts: { requestMs: 120000 }';
  const installation = await install(t, { domains, more: `budgets: ${budgets}${more}}\n${timeouts}\n` });
  const serving = await serve(t, installation);
  const flood = new Flood();
  // Before the flood: it goes on in this process, and would pause meanwhile.
  const identities = await Promise.all(names.map((name) => installation.pki.identity(`media.${name}`)));
  const identity = await who(installation);
  const before = costsAreKnown ? costOf(serving.pid).processorMs : 0;
  const agents = Array.from({ length: floodConnections }, () => agentOf(installation, identity));
  flood.start(serving.baseUrl, agents);
  // More than the bursts of the certificate, the address and the reserve have room for together.
  await until('the flood is over its budget', () => flood.answered > 80, 120_000);
  const failed = await askAsOthers(installation, serving, identities);
  const seconds = await flood.end();
  if (costsAreKnown) {
    const spent = costOf(serving.pid).processorMs - before;
    t.log(`processor time of the server: ${spent} ms in ${Math.round(seconds * 1000)} ms`);
  }
  await serving.end();
  t.regex(serving.errors(), /connections waited for their handshake/);
  t.log(`the flood: ${JSON.stringify(Object.fromEntries(flood.statuses))}`);
  assertWithin(t, `requests without their answer, of ${others * requestsEach} over new connections`, failed, 0);
  return { flood, seconds };
}

/** Handshakes that an address and the reserve pay in `seconds`; each connection was in flight once when the debt began. */
function handshakesOf(share: number, seconds: number): number {
  const { workMsPerSecond, burstMs } = strangers;
  const work = share * (burstMs + workMsPerSecond * seconds) + reserved * workMsPerSecond * (seconds + 1);
  return (work * 1000) / costs.handshake + 2 * floodConnections;
}

const nobody = async (): Promise<CallerOptions> => ({});

for (const [what, more, share] of [
  ['a shared address', ', sharedAddresses: [127.0.0.1]', 1],
  ['an address that nobody listed', '', strangers.share],
] as const) {
  test.serial(`a stranger floods from ${what}: everybody with a certificate behind it is answered`, async (t) => {
    t.timeout(300_000);
    const { flood, seconds } = await floodBeside(t, more, nobody);
    const work = (flood.answered * costs.handshake) / 1000;
    const bound = (handshakesOf(share, seconds) * costs.handshake) / 1000;
    assertWithin(t, 'handshakes of the flood', work, Math.round(bound), 'ms of work');
    t.deepEqual(
      [...flood.statuses.keys()].filter((status) => status !== 401 && status !== 429 && status !== 0),
      [],
    );
  });

  test.serial(`a certificate over its budget floods from ${what}: the others behind it are answered`, async (t) => {
    t.timeout(300_000);
    const loop = (at: Installation) => at.pki.identity('media.loop');
    const { flood, seconds } = await floodBeside(t, more, loop);
    const served = flood.statuses.get(200) ?? 0;
    const own = principal.share * (principal.burstMs + principal.workMsPerSecond * seconds);
    assertWithin(
      t,
      'work of the flood',
      (served * costs.request) / 1000,
      Math.round(own) + floodConnections,
      'ms of work',
    );
    const paid = handshakesOf(share, seconds) + (own * 1000) / costs.handshake;
    assertWithin(t, 'handshakes of the flood', flood.answered, Math.round(paid));
    t.true((flood.statuses.get(429) ?? 0) > 0);
  });
}
