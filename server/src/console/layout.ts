import { type Html, html } from './html.ts';
import { navigation, type Page, pathTo } from './page.ts';

interface Frame {
  readonly me: string;
  /** Address of the server. */
  readonly server: string;
  /** Notice about the form that was sent. */
  readonly notice?: string | undefined;
}

/** A page as it is sent. */
export function document(page: Page, { me, server, notice }: Frame): Html {
  const entry = ([path, name]: (typeof navigation)[number]) =>
    path === page.at
      ? html`<li><a href="${pathTo(path)}" aria-current="page">${name}</a></li>`
      : html`<li><a href="${pathTo(path)}">${name}</a></li>`;
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${shortened(page.title)} – Signet</title>
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="console.css">
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header><div>
<p class="brand"><a href="./">Signet</a></p>
<nav aria-label="Pages"><ul>${navigation.map(entry)}</ul></nav>
<form method="get" action="search" role="search">
<label class="hidden" for="search">Search</label>
<input id="search" name="q" type="search" placeholder="Search" autocomplete="off" spellcheck="false">
<button type="submit">Go</button>
</form>
<p class="who"><a href="${pathTo('principal', { name: me })}">${me}</a><span>at ${server}</span></p>
</div></header>
<main id="main" tabindex="-1">
${notice !== undefined && html`<p class="notice good" role="status">${notice}</p>`}
${page.body}
</main>
</body>
</html>
`;
}

/** Titles are for tabs. */
function shortened(title: string): string {
  return title.length <= 50 ? title : `${title.slice(0, 49)}…`;
}
