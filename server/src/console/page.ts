import type { Call } from './api.ts';
import type { Html } from './html.ts';

/** Entries of the navigation. */
export const navigation = [
  ['', 'Home'],
  ['domains', 'Domains'],
  ['requests', 'Requests'],
  ['why', 'Why'],
  ['reviews', 'Reviews'],
  ['audit', 'Audit'],
] as const;

type NavigationEntry = (typeof navigation)[number][0];

/** A page without what all pages have. */
export interface Page {
  readonly title: string;
  /** Entry of the navigation that it belongs to. */
  readonly at?: NavigationEntry;
  readonly body: Html;
  /** Status of the answer; default 200. */
  readonly status?: number;
}

export interface PageContext {
  readonly call: Call;
  /** Principal of the client certificate. */
  readonly me: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export type Params = ReadonlyMap<string, string>;

/** A page is a function of its parameters and the API. */
export type PageFunction = (context: PageContext, params: Params) => Promise<Page>;

/** A change: it calls the API and says which page shows the result. Its parameters are the fields of a form. */
export type ActionFunction = (context: PageContext, fields: Params) => Promise<string>;

/** Address of a page, relative to every other one. */
export function pathTo(page: string, params: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(params).filter((entry): entry is [string, string] => Boolean(entry[1]));
  const query = new URLSearchParams(given).toString();
  return `${page === '' ? './' : page}${query === '' ? '' : `?${query}`}`;
}
