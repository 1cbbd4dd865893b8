import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { checkIdentity } from '@signet/client';
import { systemClock } from '@signet/policy-engine/clock';
import { secureClientOptions } from '@signet/policy-engine/http';
import { checkServerIs } from '@signet/policy-engine/server-identity';
import { z } from 'zod';
import type { DocumentProblem } from '../../errors.ts';
import { type ConnectionOptions, clientSettings } from '../connection.ts';
import { warn } from '../run.ts';

/** The server did not do what it was asked to; the message is its own. */
export class ManagementRefusedError extends Error {
  override readonly name = 'ManagementRefusedError';
  readonly status: number;
  /** Problems in the documents that were sent. */
  readonly problems: readonly DocumentProblem[] | undefined;

  constructor(status: number, message: string, problems?: readonly DocumentProblem[]) {
    super(message);
    this.status = status;
    this.problems = problems;
  }
}

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
}

/** Answer of the server, and its entity tag. */
interface TaggedAnswer {
  readonly body: unknown;
  readonly tag: string | undefined;
}

const usualTimeoutMs = 30_000;

/** Makes one request of the management API and answers its JSON, undefined where there is none. Throws `ManagementRefusedError`. */
export async function manage(options: ConnectionOptions, asked: ManagementRequest): Promise<unknown> {
  return (await manageTagged(options, asked)).body;
}

/** The same with the entity tag. */
export async function manageTagged(options: ConnectionOptions, asked: ManagementRequest): Promise<TaggedAnswer> {
  const settings = clientSettings(options);
  checkIdentity(settings, systemClock.now());
  // The management API has one address: that of the first server.
  const [origin = ''] = [settings.baseUrl].flat();
  const url = new URL(`/management/v1/${asked.path.map(encodeURIComponent).join('/')}`, String(origin));
  for (const [name, value] of Object.entries(asked.query ?? {})) url.searchParams.set(name, value);
  const body = asked.body === undefined ? undefined : JSON.stringify(asked.body);
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number;
    text: string;
    tag: string | undefined;
  }>();
  const sent = request(
    url,
    {
      method: asked.method,
      cert: readFileSync(settings.certificate),
      key: readFileSync(settings.key),
      ca: readFileSync(settings.caBundle),
      agent: false,
      ...secureClientOptions,
      checkServerIdentity: checkServerIs(settings.serverIdentity),
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
      const warning = headers['signet-warning'];
      if (warning !== undefined) warn(String(warning));
      text(response).then((answer) => resolve({ status, text: answer, tag: headers.etag }), reject);
    },
  );
  sent.on('error', reject);
  sent.end(body);
  const answer = await promise;
  const value: unknown = answer.text === '' ? undefined : JSON.parse(answer.text);
  if (answer.status >= 400) throw new ManagementRefusedError(answer.status, messageOf(value), problemsOf(value));
  return { body: value, tag: answer.tag };
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
