import { secureClientOptions } from '@signet/policy-engine/http';
import { parseStrictJson } from '@signet/policy-engine/json';

/** Options of `fetch` that are used here. */
interface FetchOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | URLSearchParams | null;
  readonly signal?: AbortSignal | undefined;
}

/** Variant of `fetch` for one answer of an issuer. */
export type BoundedFetch = (url: string, options?: FetchOptions) => Promise<Response>;

/** Maximum size of an answer, above any key set or token. */
const maxAnswerBytes = 262_144;
const timeoutMs = 10_000;

/**
 * Fetch over https only, on a connection of its own, that follows no redirect. The whole answer is bounded, in bytes and in time. `ca`: PEM of
 * the authorities to which the other side must chain; absent: those that this machine trusts.
 */
export function boundedFetch(ca: string | undefined): BoundedFetch {
  return async (url, { method = 'GET', headers = {}, body, signal } = {}) => {
    if (URL.parse(url)?.protocol !== 'https:') throw new TypeError('the address of an issuer must be https');
    // Few servers have people who log in.
    const { Agent, request } = await import('undici');
    const connect = { ...secureClientOptions, ...(ca !== undefined && { ca }), timeout: timeoutMs };
    const agent = new Agent({ connect, maxResponseSize: maxAnswerBytes });
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      const answer = await request(url, {
        method: method as 'GET' | 'POST',
        headers: { ...headers },
        body: body?.toString() ?? null,
        dispatcher: agent,
        signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
      });
      const bytes = await answer.body.arrayBuffer();
      const type = [answer.headers['content-type']].flat()[0] ?? '';
      return new Response(bytes, { status: answer.statusCode, headers: { 'content-type': type } });
    } finally {
      void agent.destroy().catch(() => undefined);
    }
  };
}

/** JSON answer of an issuer. Throws when it is anything but 200 and JSON. */
export async function fetchJson(fetch: BoundedFetch, address: string): Promise<unknown> {
  const answer = await fetch(address, { headers: { accept: 'application/json' } });
  if (answer.status !== 200) throw new Error(`the issuer answered ${answer.status}`);
  return parseStrictJson(await answer.text());
}
