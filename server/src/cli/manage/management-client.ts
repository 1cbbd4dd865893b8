import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { checkIdentity } from '@signet/client';
import { systemClock } from '@signet/policy-engine/clock';
import { secureClientOptions } from '@signet/policy-engine/http';
import { checkServerIs } from '@signet/policy-engine/server-identity';
import { z } from 'zod';
import type { DocumentProblem } from '../../errors.ts';
import { type ConnectionOptions, clientSettings, usualRetryTimeout } from '../connection.ts';
import { warn } from '../run.ts';
import { ManagementRefusedError } from './refused-request.ts';
import { sendPatiently } from './retry.ts';

export interface ManagementRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Parts of the path below `/management/v1`, not escaped. */
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Entity tag that the object must still have. */
  readonly ifMatch?: string | undefined;
  /** Time for the answer in milliseconds; default 30,000. */
  readonly timeoutMs?: number;
  /** True for a `POST` that may be made twice; other methods always may. */
  readonly isRepeatable?: boolean;
}

/** Answer of the server, and its entity tag. */
interface TaggedAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly tag: string | undefined;
}

const usualTimeoutMs = 30_000;

/**
 * Makes one request of the management API and answers its JSON, undefined where there is none. A server that is busy or unavailable is asked again
 * within `--timeout`. Throws `ManagementRefusedError`.
 */
export async function manage(options: ConnectionOptions, asked: ManagementRequest): Promise<unknown> {
  return (await manageTagged(options, asked)).body;
}

/** The same with the entity tag. */
export async function manageTagged(options: ConnectionOptions, asked: ManagementRequest): Promise<TaggedAnswer> {
  const settings = clientSettings(options);
  checkIdentity(settings, systemClock.now());
  const { timeout: timeoutSeconds = usualRetryTimeout } = options;
  const isRepeatable = asked.method !== 'POST' || asked.isRepeatable === true;
  let mayBeDone = false;
  const send = async () => {
    const answer = await exchange(settings, asked);
    // The answer to a deletion that was sent again after a failed acknowledgement: it was made.
    const isGone = mayBeDone && asked.method === 'DELETE' && answer.status === 404;
    mayBeDone ||= answer.status === 503;
    return isGone ? { ...answer, status: 204, text: '' } : answer;
  };
  const answer = await sendPatiently(send, { timeoutSeconds, isRepeatable });
  const value: unknown = answer.text === '' ? undefined : parsed(answer.text);
  if (answer.status >= 400) throw new ManagementRefusedError(answer.status, messageOf(value), problemsOf(value));
  return { status: answer.status, body: value, tag: answer.tag };
}

/** The management API over one connection, which is kept. */
interface KeptManagement extends Disposable {
  /** Sends a request once, and answers its status and JSON whatever they are. The certificate files are read anew. */
  call(asked: ManagementRequest): Promise<{ readonly status: number; readonly body: unknown }>;
}

/** Opens it with the first request. A certificate that was replaced is presented on a new connection. */
export function keepManagement(options: ConnectionOptions): KeptManagement {
  const { serverIdentity } = clientSettings(options);
  // A check that is given with each request makes Node close the connection after it.
  const agent = new Agent({ keepAlive: true, maxSockets: 1, checkServerIdentity: checkServerIs(serverIdentity) });
  return {
    call: async (asked) => {
      const { status, text: answer } = await exchange(clientSettings(options), asked, agent);
      return { status, body: answer === '' ? undefined : parsed(answer) };
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

interface Exchanged {
  readonly status: number;
  readonly text: string;
  readonly tag: string | undefined;
  readonly retryAfter: string | undefined;
}

/** Sends the request once: on a connection of its own, or on the kept one, whose agent checks who the server is. */
function exchange(
  settings: ReturnType<typeof clientSettings>,
  asked: ManagementRequest,
  kept?: Agent,
): Promise<Exchanged> {
  // The management API has one address: that of the first server.
  const [origin = ''] = [settings.baseUrl].flat();
  const url = new URL(`/management/v1/${asked.path.map(encodeURIComponent).join('/')}`, String(origin));
  for (const [name, value] of Object.entries(asked.query ?? {})) url.searchParams.set(name, value);
  const body = asked.body === undefined ? undefined : JSON.stringify(asked.body);
  const { promise, resolve, reject } = Promise.withResolvers<Exchanged>();
  const sent = request(
    url,
    {
      method: asked.method,
      cert: readFileSync(settings.certificate),
      key: readFileSync(settings.key),
      ca: readFileSync(settings.caBundle),
      ...secureClientOptions,
      ...(kept === undefined
        ? { agent: false, checkServerIdentity: checkServerIs(settings.serverIdentity) }
        : { agent: kept }),
      signal: AbortSignal.timeout(asked.timeoutMs ?? usualTimeoutMs),
      headers: {
        ...(asked.ifMatch !== undefined && { 'if-match': asked.ifMatch }),
        ...(body !== undefined && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(body)),
        }),
      },
    },
    (response) => {
      const { statusCode: status = 0, headers } = response;
      const { etag: tag, 'retry-after': retryAfter, 'signet-warning': warning } = headers;
      if (warning !== undefined) warn(String(warning));
      text(response).then((answer) => resolve({ status, text: answer, tag, retryAfter }), reject);
    },
  );
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

/** The JSON of an answer; undefined for a text that is none, as a proxy in between may send. */
function parsed(answer: string): unknown {
  try {
    return JSON.parse(answer);
  } catch {
    return undefined;
  }
}

/** Every page of a list. */
export async function manageAll(
  options: ConnectionOptions,
  path: readonly string[],
  query: Readonly<Record<string, string>> = {},
): Promise<unknown[]> {
  const items: unknown[] = [];
  let cursor: string | undefined;
  do {
    const more: Record<string, string> = cursor === undefined ? {} : { cursor };
    const page = await manage(options, { method: 'GET', path, query: { ...query, ...more } });
    items.push(...listOf(page, 'items'));
    cursor = textOf(page, 'next');
  } while (cursor !== undefined);
  return items;
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}

function listOf(value: unknown, name: string): readonly unknown[] {
  const found = member(value, name);
  return Array.isArray(found) ? found : [];
}

export function textOf(value: unknown, name: string): string | undefined {
  const found = member(value, name);
  return typeof found === 'string' ? found : undefined;
}

function messageOf(value: unknown): string {
  return textOf(value, 'message') ?? 'the server refused the request';
}

const problemsSchema = z.object({
  problems: z.array(
    z.object({ file: z.string(), line: z.int(), column: z.int(), field: z.string(), message: z.string() }),
  ),
});

function problemsOf(value: unknown): readonly DocumentProblem[] | undefined {
  return problemsSchema.safeParse(value).data?.problems;
}
