import { systemClock } from '@signet/policy-engine/clock';
import { secureClientOptions } from '@signet/policy-engine/http';
import type { ServerCheck } from '@signet/policy-engine/server-identity';
import { Agent, request } from 'undici';
import { SignetClientError } from '../client-errors.ts';
import { decodeObject, type JsonObject } from '../decode.ts';
import { answerError } from '../http/answer-error.ts';
import { transportError } from '../http/transport-error.ts';

/** Server to call, and the caller's identity: none before there is a certificate. */
export interface Peer {
  /** `https` URL of the API, without a slash at the end. */
  readonly baseUrl: string;
  /** PEM of the CA certificates that the server's must chain to. */
  readonly caBundle: string;
  readonly identity?: { readonly certificate: string; readonly key: string } | undefined;
  readonly timeoutMs: number;
  /** Checks that a certificate is the token server's. */
  readonly isServer: ServerCheck;
}

const maxAnswerBytes = 1 << 20;

/** Posts a JSON body on a connection of its own; answers the JSON of a 2xx. Throws `SignetClientError`. */
export function postJson(
  peer: Peer,
  path: readonly string[],
  body: unknown,
  signal?: AbortSignal,
): Promise<JsonObject> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' };
  return exchange(peer, path, { method: 'POST', headers, body: JSON.stringify(body) }, signal);
}

/** Requests JSON with `GET`, like `postJson`. */
export function getJson(peer: Peer, path: readonly string[], signal?: AbortSignal): Promise<JsonObject> {
  return exchange(peer, path, { method: 'GET', headers: { accept: 'application/json' } }, signal);
}

interface Sent {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | null;
}

async function exchange(
  peer: Peer,
  path: readonly string[],
  { method, headers, body = null }: Sent,
  signal: AbortSignal | undefined,
): Promise<JsonObject> {
  const { certificate, key } = peer.identity ?? {};
  const agent = new Agent({
    connect: {
      ca: peer.caBundle,
      checkServerIdentity: peer.isServer,
      ...secureClientOptions,
      timeout: peer.timeoutMs,
      ...(certificate !== undefined && key !== undefined && { cert: certificate, key }),
    },
    maxResponseSize: maxAnswerBytes,
  });
  const timeout = AbortSignal.timeout(peer.timeoutMs);
  try {
    const answer = await request(`${peer.baseUrl}/${path.map(encodeURIComponent).join('/')}`, {
      method,
      headers: { ...headers },
      body,
      dispatcher: agent,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    const bytes = new Uint8Array(await answer.body.arrayBuffer());
    if (answer.statusCode < 200 || answer.statusCode >= 300) {
      const retryAfter = [answer.headers['retry-after']].flat()[0];
      throw answerError(answer.statusCode, { 'retry-after': retryAfter }, bytes, systemClock.now());
    }
    return decodeObject(bytes);
  } catch (error) {
    throw explain(error, peer, signal, timeout);
  } finally {
    void agent.destroy().catch(() => undefined);
  }
}

function explain(error: unknown, peer: Peer, signal: AbortSignal | undefined, timeout: AbortSignal): SignetClientError {
  if (error instanceof SignetClientError) return error;
  const { host } = new URL(peer.baseUrl);
  if (signal?.aborted)
    return new SignetClientError('aborted', 'the request was aborted by the caller', { cause: error });
  if (timeout.aborted)
    return new SignetClientError('timed-out', `no complete response from \`${host}\` in time`, { cause: error });
  return transportError(error, host);
}
