import { posix } from 'node:path';
import { served, shown } from './navigation.ts';

/* Links and anchors of the sources work in a repository; here they are made to work on the site as well. */

/** The anchor of a heading, as web pages of a repository make it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

/** The file of the repository that a page of the site is made of; `page` and the answer are paths, of `docs/` and of the repository. */
function sourceOf(page: string): string {
  const [source] = Object.entries(shown).find(([, shownAs]) => shownAs === page) ?? [];
  return source ?? posix.join('docs', page);
}

/** The path of a page on the site, without its extension where it is that of a folder: `guides/README.md` is `guides/`. */
export function onSite(page: string): string {
  return page.replace(/(^|\/)README(?:\.md)?$/, '$1');
}

/** Where a link of a page leads on the site; throws where the site has no such file. `page` is its path below `docs/`. */
export function linkOnSite(page: string, link: string): string {
  if (/^(?:[a-z]+:|#|\/)/.test(link)) return link;
  const [path = '', anchor] = link.split('#');
  const target = posix.join(posix.dirname(sourceOf(page)), path).replace(/\/$/, '');
  const hash = anchor === undefined ? '' : `#${anchor}`;
  if (served[target] !== undefined) return `/${served[target]}`;
  if (shown[target] !== undefined) return `/${shown[target]}${hash}`;
  if (!target.startsWith('docs/')) throw new Error(`${page} links to ${target}, which the site does not have`);
  const below = target.slice('docs/'.length);
  return posix.extname(below) === '' ? `/${below}/${hash}` : `/${onSite(below)}${hash}`;
}
