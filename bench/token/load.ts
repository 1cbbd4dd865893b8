/** Load generator, a process of its own: a fixed number of requests over kept-alive connections of mutual TLS, and no more. */
import { readFileSync } from 'node:fs';
import { Agent, type RequestOptions, request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';

/** Target of a request; `expect` is the status of every answer. */
export interface Target {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly headers: Record<string, string>;
  readonly body?: string;
  readonly expect: number;
  readonly certificateFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  readonly connections: number;
  /** Every request on a connection of its own; each is a full handshake, as servers give no session tickets. */
  readonly isNewEach?: boolean;
}

export type Order =
  | { readonly kind: 'target'; readonly target: Target }
  | { readonly kind: 'send'; readonly count: number }
  /** At a steady pace, whatever the answers take. */
  | { readonly kind: 'pace'; readonly count: number; readonly perSecond: number };
export type Report =
  | { readonly kind: 'done'; readonly sample: string; readonly etag?: string }
  /** Milliseconds from each request to its whole answer. */
  | { readonly kind: 'paced'; readonly milliseconds: readonly number[] }
  | { readonly kind: 'failed'; readonly reason: string };

interface Answer {
  readonly body: string;
  readonly etag?: string;
}

function createSender(target: Target): () => Promise<Answer> {
  const agent = new Agent({
    keepAlive: target.isNewEach !== true,
    maxCachedSessions: 0,
    maxSockets: target.connections,
    cert: readFileSync(target.certificateFile),
    key: readFileSync(target.keyFile),
    ca: readFileSync(target.caFile),
  });
  const options: RequestOptions = { agent, method: target.method, headers: target.headers };
  return () =>
    new Promise((resolve, reject) => {
      const sent = request(target.url, options, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.once('error', reject);
        response.once('end', () => {
          const body = Buffer.concat(chunks).toString();
          if (response.statusCode !== target.expect) reject(new Error(`status ${response.statusCode}: ${body}`));
          else resolve({ body, ...(response.headers.etag === undefined ? {} : { etag: response.headers.etag }) });
        });
      });
      sent.once('error', reject);
      sent.end(target.body);
    });
}

async function sendAll(send: () => Promise<Answer>, connections: number, count: number): Promise<Answer> {
  let left = count;
  let last: Answer = { body: '' };
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left--;
      last = await send();
    }
  };
  await Promise.all(Array.from({ length: connections }, worker));
  return last;
}

async function sendPaced(send: () => Promise<Answer>, count: number, perSecond: number): Promise<number[]> {
  const start = performance.now();
  const answers: Promise<number>[] = [];
  for (let sent = 0; sent < count; sent += 1) {
    await delay(Math.max(0, start + (sent * 1000) / perSecond - performance.now()));
    const began = performance.now();
    answers.push(send().then(() => performance.now() - began));
  }
  return await Promise.all(answers);
}

function main(): void {
  let send: (() => Promise<Answer>) | undefined;
  let connections = 1;
  const answer = (report: Report): void => void process.send?.(report);
  process.on('message', (order: Order) => {
    if (order.kind === 'target') {
      send = createSender(order.target);
      connections = order.target.connections;
      answer({ kind: 'done', sample: '' });
    } else if (send === undefined) {
      answer({ kind: 'failed', reason: 'there is no target' });
    } else if (order.kind === 'pace') {
      sendPaced(send, order.count, order.perSecond).then(
        (milliseconds) => answer({ kind: 'paced', milliseconds }),
        (error: unknown) => answer({ kind: 'failed', reason: String(error) }),
      );
    } else {
      sendAll(send, connections, order.count).then(
        ({ body, etag }) => answer({ kind: 'done', sample: body, ...(etag === undefined ? {} : { etag }) }),
        (error: unknown) => answer({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) }),
      );
    }
  });
  process.once('disconnect', () => process.exit());
}

main();
