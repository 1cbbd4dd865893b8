import { ApiRefusedError } from './api.ts';
import { html } from './html.ts';
import type { Page } from './page.ts';
import { message } from './parts.ts';

const headings: Readonly<Record<number, string>> = {
  401: 'Your certificate expired or was revoked',
  403: 'You may not view or do this',
  404: 'There is nothing here',
  412: 'The effect is not the one that you saw',
  429: 'The server is busy',
  503: 'The server is not available',
};

const remedies: Readonly<Record<number, string>> = {
  401: 'Run signet login, then load this page again.',
  412: 'Go back, load the page again, and look at the new effect.',
  429: 'Load the page again in a few seconds.',
  503: 'Load the page again in a few seconds.',
};

/** The page about a refusal of the API; of anything else, that the server cannot be asked. */
export function errorPage(error: unknown): Page {
  const isRefused = error instanceof ApiRefusedError;
  const status = isRefused ? error.status : 502;
  const heading = headings[status] ?? (isRefused ? 'The server refused this' : 'The server cannot be asked');
  const reason = isRefused ? error.message : 'The terminal in which the console runs says why.';
  const body = html`<h1>${heading}</h1>
<p class="lead">${message(reason)}</p>
${remedies[status] !== undefined && html`<p>${remedies[status]}</p>`}
<p><a href="./">To the first page</a></p>`;
  return { title: heading, body, status: status >= 500 ? 502 : status };
}
