import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseHttpDate, SignetClientError } from '@signet/client';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { internals } from '../../limits/row.ts';

/* Handling of a server's answers, and the number and targets of requests, without a network. */

interface Sent {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}
interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly chunks?: Iterable<Uint8Array | string>;
}
interface Request {
  readonly method: 'GET';
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly maxResponseBytes?: number;
  readonly signal?: AbortSignal;
}
interface Response {
  readonly status: number;
  readonly headers: object;
  readonly body: Uint8Array;
}
const { Http } = await internals<{ Http: new (options: object) => { send(request: Request): Promise<Response> } }>(
  'client/src/http/http.ts',
);
const { Servers } = await internals<{ Servers: new (urls: readonly string[], clock: FakeClock) => object }>(
  'client/src/http/servers.ts',
);

const request: Request = { method: 'GET', path: ['a'] };

/** A client whose servers answer in turn; `sent` are the requests, `onSent` is told of each. */
function world(answers: readonly (Answer | Error)[], more: { urls?: readonly string[]; retries?: number } = {}) {
  const { urls = ['https://one/v1'], retries = 0 } = more;
  const left = [...answers];
  const sent: Sent[] = [];
  const closing = new AbortController();
  const hooks: { onSent: () => void } = { onSent: () => undefined };
  const server = {
    request: async (options: Sent) => {
      sent.push(options);
      hooks.onSent();
      const next = left.shift() ?? new Error('one request too many');
      if (next instanceof Error) throw next;
      const { status = 200, headers = {}, chunks = [] } = next;
      return { statusCode: status, headers, body: Readable.from(chunks) };
    },
  };
  const clock = new FakeClock();
  const http = new Http({
    agents: { server, refresh: async () => undefined, closed: closing.signal },
    servers: new Servers(urls, clock),
    retry: { retries, random: () => 0 },
    clock,
    connectTimeoutMs: 60_000,
    readTimeoutMs: 60_000,
  });
  return { sent, closing, hooks, http, origins: () => sent.map(({ origin }) => origin.replace('https://', '')) };
}

const bytes = (text: string) => [Buffer.from(text)];
const conditional = { 'if-none-match': '"1"' };
const statuses: [status: number, headers: Record<string, string>, outcome: 'answer' | 'redirected' | 'refused'][] = [
  [199, {}, 'refused'],
  [200, {}, 'answer'],
  [299, {}, 'answer'],
  [300, {}, 'redirected'],
  [303, conditional, 'redirected'],
  [304, {}, 'redirected'],
  [304, conditional, 'answer'],
  [305, conditional, 'redirected'],
  [200, conditional, 'answer'],
  [404, conditional, 'refused'],
  [404, {}, 'refused'],
];
for (const [status, headers, outcome] of statuses) {
  test(`an answer ${status}${headers === conditional ? ' to a condition' : ''}: ${outcome}`, async (t) => {
    const { http } = world([{ status, headers: { etag: '"2"', 'set-cookie': ['a', 'b'] }, chunks: bytes('x') }]);
    const sending = http.send({ ...request, headers });
    if (outcome !== 'answer') return t.throwsAsync(sending, { code: outcome } as never);
    const answer = await sending;
    t.is(answer.status, status);
    t.deepEqual(answer.headers, { etag: '"2"', 'set-cookie': 'a' });
    return t.is(Buffer.from(answer.body).toString(), 'x');
  });
}

const length = (size: number) => ({ 'content-length': String(size) });
const sizes: [note: string, answer: Answer, size: number | undefined][] = [
  ['of nothing', {}, 0],
  ['of as much as may be', { chunks: ['abcd', 'efgh'].map((text) => Buffer.from(text)) }, 8],
  ['of as much as may be, in one piece', { headers: length(8), chunks: bytes('abcdefgh') }, 8],
  ['of one byte more', { chunks: ['abcd', 'efghi'].map((text) => Buffer.from(text)) }, undefined],
  ['that says to be too large', { headers: length(9), chunks: bytes('x') }, undefined],
];
for (const [note, answer, size] of sizes) {
  test(`an answer ${note}`, async (t) => {
    const sending = world([answer]).http.send({ ...request, maxResponseBytes: 8 });
    if (size !== undefined) return t.is((await sending).body.length, size);
    return t.throwsAsync(sending, {
      code: 'response-too-large',
      message: 'the answer is larger than 8 bytes',
    } as never);
  });
}

test('an answer without end is given up as soon as it is too large', async (t) => {
  let read = 0;
  function* endless() {
    for (; read < 10_000; read += 1) yield Buffer.from('x');
  }
  await t.throwsAsync(world([{ chunks: endless() }]).http.send({ ...request, maxResponseBytes: 8 }), {
    code: 'response-too-large',
  } as never);
  t.true(read < 1000, String(read));
});

test('an answer in another encoding than none is not read', async (t) => {
  const encoded = (encoding: string) => ({ headers: { 'content-encoding': encoding }, chunks: bytes('x') });
  t.is((await world([encoded('identity')]).http.send(request)).body.length, 1);
  await t.throwsAsync(world([encoded('gzip')]).http.send(request), { code: 'response-malformed' } as never);
});

test('what is not asked is not in the query', async (t) => {
  const { http, sent } = world([{}]);
  await http.send({ ...request, path: ['a', 'b/c'], query: { one: '1', none: undefined, two: 'a b' } });
  t.is(sent[0]?.path, '/v1/a/b%2Fc?one=1&two=a+b');
});

const down = Object.assign(new Error('down'), { code: 'ECONNREFUSED' });
const broken = Object.assign(new Error('broken'), { code: 'ECONNRESET' });
const slow = Object.assign(new Error('slow'), { code: 'UND_ERR_BODY_TIMEOUT' });
const again = (seconds: number, status = 503): Answer => ({ status, headers: { 'retry-after': String(seconds) } });

const urls = ['https://one/v1', 'https://two/v1'];
const orders: [
  note: string,
  answers: (Answer | Error)[],
  more: { urls?: string[]; retries?: number },
  asked: string,
  code?: string,
][] = [
  ['an answer is one', [{}], { retries: 2 }, 'one'],
  ['a server that is not there', [down], {}, 'one', 'unreachable'],
  ['a connection that broke is replaced once', [broken, {}], {}, 'one one'],
  ['a connection that broke twice', [broken, broken], {}, 'one one', 'unreachable'],
  ['an answer 503 without tries', [again(0)], {}, 'one', 'server-error'],
  ['an answer 503 and one try', [again(0), {}], { retries: 1 }, 'one one'],
  ['two answers 503 and one try', [again(0), again(0)], { retries: 1 }, 'one one', 'server-error'],
  ['two answers 503 and two tries', [again(0), again(0), {}], { retries: 2 }, 'one one one'],
  ['a wait that is too long', [again(31), {}], { retries: 1 }, 'one', 'server-error'],
  ['a refusal is not tried again', [{ status: 403 }, {}], { retries: 1 }, 'one', 'refused'],
  ['too many requests are not tried again', [again(0, 429), {}], { retries: 1 }, 'one', 'server-error'],
  ['a time-out is not tried again', [slow, {}], { retries: 1 }, 'one', 'timed-out'],
  ['the first server answers', [{}], { urls }, 'one'],
  ['the second answers for the first', [down, {}], { urls }, 'one two'],
  ['the second answers for one that is slow', [slow, {}], { urls }, 'one two'],
  ['a refusal counts for all', [{ status: 403 }, {}], { urls }, 'one', 'refused'],
  ['none is there', [down, slow], { urls }, 'one two', 'timed-out'],
  ['none is there, and then the first', [down, again(0), {}], { urls, retries: 1 }, 'one two one'],
];
for (const [note, answers, more, asked, code] of orders) {
  test(`who is asked: ${note}`, async (t) => {
    const { http, origins } = world(answers, more);
    if (code === undefined) t.is((await http.send(request)).status, 200);
    else await t.throwsAsync(http.send(request), { instanceOf: SignetClientError, code } as never);
    t.is(origins().join(' '), asked);
  });
}

test('a server that failed is asked last the next time, until it answers', async (t) => {
  const { http, origins } = world([down, {}, {}, down, {}, {}], { urls });
  for (let time = 0; time < 4; time += 1) await http.send(request);
  t.is(origins().join(' '), 'one two two two one one');
});

/** Result of work that ends soon after a signal, before the wait would be over. */
async function atOnce(signal: AbortSignal, work: Promise<unknown>): Promise<unknown> {
  const late = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', async () => {
      for (let turn = 0; turn < 100; turn += 1) await nextTurn();
      reject(new Error('it goes on waiting'));
    });
  });
  return Promise.race([work, late]);
}

test('who gives up while a request waits for its next try is told so, and so is who closes the client', async (t) => {
  const aborting = new AbortController();
  const aborted = world([again(30)], { retries: 1 });
  aborted.hooks.onSent = () => setImmediate(() => aborting.abort());
  const giving = aborted.http.send({ ...request, signal: aborting.signal });
  await t.throwsAsync(atOnce(aborting.signal, giving), { code: 'aborted' } as never);
  for (const signal of [undefined, new AbortController().signal]) {
    const closed = world([again(30)], { retries: 1 });
    closed.hooks.onSent = () => setImmediate(() => closed.closing.abort());
    const sending = closed.http.send({ ...request, ...(signal && { signal }) });
    await t.throwsAsync(atOnce(closed.closing.signal, sending), { code: 'closed' } as never);
  }
});

test('a request that was given up before is not sent, and one under way hears of it', async (t) => {
  const { http, sent, hooks } = world([{}, Object.assign(new Error('stopped'), { name: 'AbortError' })]);
  await t.throwsAsync(http.send({ ...request, signal: AbortSignal.abort() }), { code: 'aborted' } as never);
  t.is(sent.length, 0);
  const caller = new AbortController();
  await http.send({ ...request, signal: caller.signal });
  hooks.onSent = () => caller.abort();
  await t.throwsAsync(http.send({ ...request, signal: caller.signal }), { code: 'aborted' } as never);
  t.true(sent[1]?.signal.aborted);
});

test('a request says what time it is for its sender', async (t) => {
  const { http, sent } = world([{}]);
  await http.send(request);
  t.is(parseHttpDate(String(sent[0]?.headers['date'])), Math.floor(new FakeClock().now() / 1000) * 1000);
});
