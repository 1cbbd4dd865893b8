import { costs } from '@signet/server/budgets/costs';
import test, { type ExecutionContext } from 'ava';
import { startBalancer } from '#support/balancer';
import { assertWithin, costOf, costsAreKnown } from '#support/cost';
import { instanceDomains, instanceRequest, json } from '#support/instance-world';
import { proxyHeader } from '#support/proxy-header';
import { install, type Serving, serve } from '#support/signet-program';
import { type Answer, type Caller, type CallerOptions, caller } from '#support/start-server';

/*
 * Small budgets, so that the floods are short: a principal has a second of work at once and 10 ms a second after that, a certificate a fifth and
 * an address a quarter of it.
 */
const budgets = `budgets:
  principal: { workMsPerSecond: 10, burstMs: 1000, share: 0.2 }
  strangers: { workMsPerSecond: 10, burstMs: 1000, share: 0.25 }
`;
const share = { certificate: 0.2, address: 0.25 };

/** Work that a share of the budget allows in `elapsedMs`, in milliseconds. */
const allowed = (part: number, elapsedMs: number) => part * (1000 + 10 * (elapsedMs / 1000));

interface Flood {
  readonly statuses: Map<number, number>;
  readonly refused: Answer[];
  readonly elapsedMs: number;
}

/** Has each of these callers ask as fast as it is answered until the others are done. */
async function flood(
  callers: readonly Caller[],
  ask: (call: Caller) => Promise<Answer>,
  others: (isRefused: () => boolean) => Promise<void>,
) {
  const statuses = new Map<number, number>();
  const refused: Answer[] = [];
  const started = performance.now();
  let isOver = false;
  const floods = callers.map(async (call) => {
    while (!isOver) {
      // A connection that is refused is status 0.
      const answer = await ask(call).catch(() => undefined);
      const status = answer?.status ?? 0;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (answer?.status === 429) refused.push(answer);
      if (status === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  });
  await others(() => refused.length > 0);
  isOver = true;
  await Promise.all(floods);
  return { statuses, refused, elapsedMs: performance.now() - started } satisfies Flood;
}

function figures(t: ExecutionContext, what: string, { statuses, elapsedMs }: Flood, { pid }: Serving, before: number) {
  t.log(`${what}: ${JSON.stringify(Object.fromEntries(statuses))} in ${Math.round(elapsedMs)} ms`);
  if (costsAreKnown) t.log(`processor time of the server meanwhile: ${costOf(pid).processorMs - before} ms`);
  else t.log('processor time is not known here');
}

const spent = (pid: number) => (costsAreKnown ? costOf(pid).processorMs : 0);

test.serial('one tenant that asks without end is held to its budget, and the others are all served', async (t) => {
  const tenants = Array.from({ length: 10 }, (_, index) => `tenant${index}`);
  const services = Object.fromEntries(tenants.map((name) => [name, {}]));
  const at = await install(t, { domains: [{ name: 'media', services: { ...services, loop: {} } }], more: budgets });
  const server = await serve(t, at);
  const looping = await at.pki.identity('media.loop');
  const path = '/oauth2/keys';
  let asked = 0;
  let served = 0;
  const before = spent(server.pid);
  const result = await flood(
    Array.from({ length: 16 }, () => server.as(looping)),
    (call) => call(path),
    async (isRefused) => {
      await Promise.all(
        tenants.map(async (name) => {
          const call = server.as(await at.pki.identity(`media.${name}`));
          for (let count = 0; count < 100 || !isRefused(); count += 1) {
            const { status } = await call(path);
            asked += 1;
            served += Number(status === 200);
          }
        }),
      );
    },
  );
  figures(t, 'the one that floods', result, server, before);
  t.log(`the others: ${served} of ${asked} requests answered`);
  t.true(asked >= 1000);
  t.is(served, asked, 'every request of the others is answered');
  const got = result.statuses.get(200) ?? 0;
  // Those that were admitted together put the budget in debt by one request each.
  const work = (16 * costs.handshake + got * costs.request) / 1000;
  const bound = allowed(share.certificate, result.elapsedMs) + (16 * (costs.handshake + costs.request)) / 1000;
  assertWithin(t, 'work of the one that floods', work, bound, 'ms');
  t.true(result.refused.every(({ headers }) => Number(headers['retry-after']) >= 1));
  assertWithin(t, 'refusals', result.refused.length, 16 * (result.elapsedMs / 1000 + 1), 'of 16 connections');
  t.is(await server.end(), 0);
  const lines = server.errors().split('\n');
  const count = (text: string) => lines.filter((line) => line.includes(text)).length;
  assertWithin(t, 'lines about refusals', count('requests were refused (429)'), 1 + result.elapsedMs / 60_000);
  t.is(count('"status":429'), 0, 'none for each');
});

test.serial('one address that floods registrations keeps nobody else from registering', async (t) => {
  const more = `${budgets}listen: { port: 0, proxyProtocolFrom: [127.0.0.1] }\n`;
  const at = await install(t, { domains: instanceDomains, more: '' });
  const { readFileSync, writeFileSync } = await import('node:fs');
  writeFileSync(at.config, readFileSync(at.config, 'utf8').replace('listen: { port: 0 }\n', more));
  const server = await serve(t, at);
  const from = async (address: string, who: CallerOptions = {}) => {
    const baseUrl = await startBalancer(t, server.baseUrl, { header: () => proxyHeader(address) });
    return caller(t, { baseUrl, pki: at.pki }, who);
  };
  const admin = await from('192.0.2.1', await at.pki.identity('media.admin'));
  const registration = (id: string, attestationData: string) =>
    json({
      provider: 'sys.auth.server',
      domain: 'media',
      service: 'player',
      attestationData,
      csr: instanceRequest(`${id}.player.media.sys-auth-server`),
    });
  const junk = registration('junk', 'signet-join-junk');
  let registered = 0;
  const before = spent(server.pid);
  const result = await flood(
    await Promise.all(Array.from({ length: 8 }, () => from('192.0.2.66'))),
    (call) => call('/instance', junk),
    async () => {
      for (let index = 0; index < 20; index += 1) {
        const { body } = await admin(`/instance/sys.auth.server/media/player/i-${index}/token`);
        const token = String((body as { attestationData: string }).attestationData);
        const stranger = await from(`198.51.100.${index}`);
        const answer = await stranger('/instance', registration(`i-${index}`, token));
        if (answer.status !== 201) t.log(answer.text);
        registered += Number(answer.status === 201);
      }
    },
  );
  figures(t, 'the address that floods', result, server, before);
  t.is(registered, 20, 'every other one registers');
  t.true(!result.statuses.has(201));
  const tried = (result.statuses.get(403) ?? 0) + (result.statuses.get(400) ?? 0);
  const cost = costs.request + costs.certificate;
  const bound = allowed(share.address, result.elapsedMs) + (8 * (costs.handshake + cost)) / 1000;
  assertWithin(t, 'work of the address that floods', (tried * cost) / 1000, bound, 'ms');
  t.true((result.statuses.get(429) ?? 0) + (result.statuses.get(0) ?? 0) > 0, 'it was refused');
});
