import type { Connection } from './client.ts';

let connection: Connection | undefined;

/** Where the functions of the generated client send their requests from now on: they take no instance. */
export function connectTo(next: Connection): void {
  connection = next;
}

/** Replacement of `fetch` for the generated client. */
export async function orvalFetch<Answer>(path: string, options: RequestInit): Promise<Answer> {
  if (connection === undefined) throw new Error('not connected');
  const response = await connection.fetch(`${connection.origin}${path}`, options);
  const text = await response.text();
  const data: unknown = text === '' ? undefined : JSON.parse(text);
  return { data, status: response.status, headers: response.headers } as Answer;
}
