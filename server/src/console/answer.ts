import { actions, notices } from './actions.ts';
import { ApiRefusedError, type Call } from './api.ts';
import { errorPage } from './error-page.ts';
import { document } from './layout.ts';
import type { Page, PageContext, Params } from './page.ts';
import { pages } from './pages.ts';
import type { Session } from './session.ts';

/** Dependencies of a console. */
export interface ConsoleDeps {
  readonly session: Session;
  readonly call: Call;
  /** Principal of the client certificate, read again with each page. */
  readonly me: () => string;
  /** Path of the page to which the link leads. */
  readonly startPage: string;
  /** Address of the server, to show. */
  readonly server: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly style: string;
  readonly icon: string;
  /** Reports a fault of the console itself. */
  readonly onFault: (error: unknown) => void;
}

/** A request as far as the console reads it. */
export interface AskedOfConsole {
  readonly method: string;
  readonly url: string;
  /** Address of the console. */
  readonly origin: string;
  readonly host: string | undefined;
  readonly fetchSite: string | readonly string[] | undefined;
  /** Body of a form that is one. */
  readonly form?: string;
}

export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly text: string;
  readonly location?: string;
}

const htmlType = 'text/html; charset=utf-8';

/** Answers one request. INVARIANT: no answer but that of a valid link depends on the session before its secret was compared. */
export async function answerTo(deps: ConsoleDeps, asked: AskedOfConsole): Promise<Answer> {
  if (`http://${asked.host}` !== asked.origin) return refusal(421, `this is ${asked.origin} and nothing else`);
  const url = URL.parse(asked.url, asked.origin);
  if (url === null || url.origin !== asked.origin) return refusal(400, 'the address cannot be read');
  const parts = url.pathname.split('/');
  const [, first = '', name = ''] = parts;
  const isWhole = parts.length === 3;
  const isRead = asked.method === 'GET' || asked.method === 'HEAD';
  if (first === 'open' && isWhole && asked.method === 'GET' && deps.session.open(name)) {
    return { ...refusal(303, ''), location: `/${deps.session.path}/${deps.startPage}` };
  }
  if (!isWhole || !deps.session.admits(first)) return refusal(404, 'run `signet console` for a link that is valid');
  if (isRead) return asset(deps, name) ?? (await shownPage(deps, name, url.searchParams));
  if (asked.method !== 'POST') return refusal(405, 'only GET and POST are known here');
  // Another site, and another port of this machine, cannot forge this header; `Origin` is `null` without a referrer.
  if (asked.fetchSite !== 'same-origin') return refusal(403, 'a form of another site was refused');
  if (asked.form === undefined) return refusal(400, 'the form cannot be read');
  return await act(deps, name, asked.form);
}

function asset({ style, icon }: ConsoleDeps, name: string): Answer | undefined {
  if (name === 'console.css') return { status: 200, type: 'text/css; charset=utf-8', text: style };
  return name === 'icon.svg' ? { status: 200, type: 'image/svg+xml', text: icon } : undefined;
}

async function shownPage(deps: ConsoleDeps, name: string, query: URLSearchParams): Promise<Answer> {
  const page = pages.get(name);
  const notice = notices.get(query.get('done') ?? '');
  return await framed(deps, notice, async (context) => {
    if (page === undefined) throw new ApiRefusedError(404, 'the console has no such page');
    return await page(context, paramsOf(query));
  });
}

async function act(deps: ConsoleDeps, name: string, form: string): Promise<Answer> {
  try {
    const action = actions.get(name);
    if (action === undefined) throw new ApiRefusedError(404, 'the console has no such form');
    const context = { call: deps.call, me: deps.me(), now: deps.now() };
    return { ...refusal(303, ''), location: await action(context, paramsOf(new URLSearchParams(form))) };
  } catch (error) {
    return await framed(deps, undefined, () => Promise.reject(error));
  }
}

/** A page in its frame, or the page about what went wrong. */
async function framed(
  deps: ConsoleDeps,
  notice: string | undefined,
  make: (context: PageContext) => Promise<Page>,
): Promise<Answer> {
  let page: Page;
  let me = '';
  try {
    me = deps.me();
    page = await make({ call: deps.call, me, now: deps.now() });
  } catch (error) {
    if (!(error instanceof ApiRefusedError)) deps.onFault(error);
    page = errorPage(error);
  }
  const text = document(page, { me, server: deps.server, notice }).toString();
  return { status: page.status ?? 200, type: htmlType, text };
}

/** The first value of each parameter. */
function paramsOf(query: URLSearchParams): Params {
  return new Map([...query].toReversed());
}

/** An answer outside of the session: it tells nothing of it. */
function refusal(status: number, text: string): Answer {
  return { status, type: 'text/plain; charset=utf-8', text: text === '' ? '' : `${text}\n` };
}
