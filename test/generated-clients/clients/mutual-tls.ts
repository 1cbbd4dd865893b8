import { Agent, type RequestInit as UndiciInit, fetch as undiciFetch } from 'undici';

/** A `fetch` that shows a client certificate, and what closes its connections. */
export function mutualTls(files: { readonly ca: string; readonly cert?: string; readonly key?: string }): {
  readonly fetch: typeof fetch;
  close(): Promise<void>;
} {
  const dispatcher = new Agent({ connect: files });
  const fetchIt: typeof fetch = async (input, init) => {
    // A Request of another implementation is taken apart.
    const request = new Request(input, init);
    const body = request.body === null ? undefined : await request.text();
    const { method, headers } = request;
    const options: UndiciInit = { method, headers: [...headers], dispatcher, ...(body !== undefined && { body }) };
    const answer = await undiciFetch(request.url, options);
    const text = await answer.text();
    return new Response(text === '' ? null : text, { status: answer.status, headers: [...answer.headers] });
  };
  return { fetch: fetchIt, close: () => dispatcher.close() };
}
