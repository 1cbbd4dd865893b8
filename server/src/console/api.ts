import type { z } from 'zod';

/* How pages ask the management API. A page gets `Call`, which sends a request as the person. */

export interface ApiRequest {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Parts of the path below `/management/v1`, not escaped. */
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface ApiAnswer {
  readonly status: number;
  /** JSON of the answer; undefined where there is none. */
  readonly body: unknown;
}

export type Call = (asked: ApiRequest) => Promise<ApiAnswer>;

/** The API refused a request; the message is its own. */
export class ApiRefusedError extends Error {
  override readonly name = 'ApiRefusedError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Sends a request and parses its answer. Throws `ApiRefusedError`. */
export async function ask<Value>(call: Call, asked: ApiRequest, schema: z.ZodType<Value>): Promise<Value> {
  const parsed = schema.safeParse(await answerOf(call, asked));
  if (parsed.success) return parsed.data;
  const field = parsed.error.issues[0]?.path.join('.') ?? '';
  throw new ApiRefusedError(502, `this version of the console cannot read the answer of the server (\`${field}\`)`);
}

/** Sends a request whose answer is not read. Throws `ApiRefusedError`. */
export async function tell(call: Call, asked: ApiRequest): Promise<void> {
  await answerOf(call, asked);
}

async function answerOf(call: Call, asked: ApiRequest): Promise<unknown> {
  const { status, body } = await call(asked);
  if (status >= 400) throw new ApiRefusedError(status, messageOf(body));
  return body;
}

function messageOf(body: unknown): string {
  if (typeof body === 'object' && body !== null && 'message' in body && typeof body.message === 'string') {
    return body.message;
  }
  return 'the server refused the request';
}
