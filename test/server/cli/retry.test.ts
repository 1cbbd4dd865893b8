import { writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { sendPatiently } from '@signet/server/cli/manage/retry';
import test, { type ExecutionContext } from 'ava';
import { createPki } from '#support/pki';
import { runSignet } from '#support/run-signet';
import { temporaryFolder } from '#support/temp';

/* Requests of commands to a server that is busy or unavailable. */

interface Step {
  readonly status: number;
  readonly retryAfter?: string;
}

/** Answers of a server one after the other, on a clock that only waiting moves. */
async function sent(steps: readonly Step[], { timeoutSeconds = 120, isRepeatable = true } = {}) {
  let now = 0;
  let count = 0;
  const waits: number[] = [];
  const clock = {
    now: () => now,
    wait: async (ms: number) => {
      waits.push(ms / 1000);
      now += ms;
    },
  };
  const send = async () => {
    count += 1;
    return steps[Math.min(count, steps.length) - 1] ?? { status: 200 };
  };
  const { status } = await sendPatiently(send, { timeoutSeconds, isRepeatable }, clock);
  return { status, count, waits };
}

const busy = { status: 429, retryAfter: '2' };
const down = { status: 503, retryAfter: '7' };
const done = { status: 200 };

for (const [name, steps, options, expected] of [
  ['an answer is not asked for again', [done], {}, { status: 200, count: 1, waits: [] }],
  ['a refusal is not, either', [{ status: 403 }], {}, { status: 403, count: 1, waits: [] }],
  ['the server says how long to wait', [busy, down, done], {}, { status: 200, count: 3, waits: [2, 7] }],
  [
    'no delay, a broken one and none at all',
    [{ ...busy, retryAfter: '0' }, { ...busy, retryAfter: 'soon' }, { status: 503 }, done],
    {},
    { status: 200, count: 4, waits: [1, 5, 5] },
  ],
  [
    'it gives up rather than wait past the end',
    [down],
    { timeoutSeconds: 20 },
    { status: 503, count: 3, waits: [7, 7] },
  ],
  ['a delay up to the end is waited for', [down], { timeoutSeconds: 7 }, { status: 503, count: 2, waits: [7] }],
  ['without time for it nothing is repeated', [busy], { timeoutSeconds: 0 }, { status: 429, count: 1, waits: [] }],
  [
    'what may not be repeated is not after 503',
    [down, done],
    { isRepeatable: false },
    { status: 503, count: 1, waits: [] },
  ],
  [
    'and is after 429, when nothing was done',
    [busy, done],
    { isRepeatable: false },
    { status: 200, count: 2, waits: [2] },
  ],
] as const) {
  test(name, async (t) => {
    t.deepEqual(await sent(steps, options), expected as never);
  });
}

/** A server that answers each request with the next status, and the methods and paths that it got. */
async function answering(t: ExecutionContext, ...statuses: readonly number[]) {
  const pki = await createPki();
  const folder = temporaryFolder(t);
  const at = (name: string) => join(folder, name);
  const [own, client] = [await pki.server(), await pki.identity('media.player')];
  const asked: string[] = [];
  const server = createServer({ cert: own.certificate, key: own.key }, (request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const status = statuses[Math.min(asked.length, statuses.length) - 1] ?? 200;
    response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '1' });
    response.end(status === 204 ? undefined : JSON.stringify({ code: status, message: `it says ${status}` }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => void server.close());
  writeFileSync(at('a.pem'), client.certificate);
  writeFileSync(at('a.key'), client.key ?? '');
  writeFileSync(at('ca.pem'), pki.bundle);
  const baseUrl = `https://localhost:${(server.address() as AddressInfo).port}/v1`;
  writeFileSync(at('client.yaml'), JSON.stringify({ baseUrl, certificate: 'a.pem', key: 'a.key', caBundle: 'ca.pem' }));
  const run = (...args: readonly string[]) => runSignet(...args, '--config', at('client.yaml'));
  return { run, asked };
}

test('a command ends with 75 when the server stays unavailable, and says what it said', async (t) => {
  for (const status of [429, 503]) {
    const { run, asked } = await answering(t, status);
    const done = await run('certificate', 'show', 'ab', '--timeout', '0');
    t.deepEqual([done.status, done.stderr], [75, `signet: it says ${status}\n`]);
    t.deepEqual(asked, ['GET /management/v1/certificates/ab']);
  }
});

test('a command goes on when the server does', async (t) => {
  const { run, asked } = await answering(t, 503, 429, 200);
  t.is((await run('role', 'delete', 'films', 'viewer')).status, 0);
  t.is(asked.length, 3);
});

test('a deletion that was made although its acknowledgement failed is done', async (t) => {
  const { run } = await answering(t, 503, 404);
  t.is((await run('role', 'delete', 'films', 'viewer')).status, 0);
  const other = await answering(t, 429, 404);
  t.is((await other.run('role', 'delete', 'films', 'viewer')).status, 1);
});

test('a refusal ends with 1', async (t) => {
  const { run } = await answering(t, 404);
  t.deepEqual(await run('certificate', 'show', 'ab'), { status: 1, stdout: '', stderr: 'signet: it says 404\n' });
});

test('a time limit that is no number of seconds is refused', async (t) => {
  t.is((await runSignet('certificate', 'show', 'ab', '--timeout', '2m')).status, 2);
});
