import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type MarkdownOptions } from 'vitepress';
import { anchorOf, linkOnSite, onSite } from '../links.ts';
import { type Page, sections } from '../navigation.ts';
import { coloursAsClasses, coloursSheet } from './colours.ts';
import { drawDiagrams } from './diagrams.ts';
import { framePictures } from './pictures.ts';

const folder = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** Pages that the build writes, beside the ones that are kept. */
const made = 'site/made/pages';

type Markdown = Parameters<NonNullable<MarkdownOptions['config']>>[0];

/** Where tokens of Markdown have the address of a page or of a picture. */
const linkAttributes: Readonly<Record<string, string>> = { link_open: 'href', image: 'src' };

/** Leads links to files of the repository to their pages; one to a file that the site has not ends the build. */
function rewriteLinks(markdown: Markdown): void {
  markdown.core.ruler.push('links-on-site', ({ tokens, env }) => {
    const page = String(env.relativePath ?? '').replace(`${made}/`, '');
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const attribute = linkAttributes[token.type];
      const link = attribute === undefined ? null : token.attrGet(attribute);
      if (attribute !== undefined && link !== null) token.attrSet(attribute, linkOnSite(page, link));
    }
  });
}

/** Pages stand outside of the package that has what they import of Vue; rendered ones find it where they are run. */
const vueOfPages = {
  name: 'vue-of-pages',
  enforce: 'pre' as const,
  resolveId: (id: string, _: string | undefined, { ssr }: { ssr?: boolean }) =>
    ssr === true && /^vue(?:\/|$)/.test(id) ? { id, external: true } : undefined,
};

const item = ([path, text]: Page) => ({ text, link: `/${onSite(path)}` });

export default defineConfig({
  title: 'Signet',
  description: 'Machine identity and authorization: tokens, certificates, signed policy and local decisions',
  lang: 'en-GB',
  srcDir: '..',
  srcExclude: ['dist/**', 'site/*.md', 'site/playground/**', 'site/.vitepress/**'],
  outDir: '../dist',
  cacheDir: 'made/cache',
  rewrites: (page) => page.replace(`${made}/`, '').replace(/(^|\/)README\.md$/, '$1index.md'),
  metaChunk: true,
  // It would insert a style element.
  appearance: { disableTransition: false },
  head: [
    ['link', { rel: 'icon', type: 'image/svg+xml', href: '/icon.svg' }],
    ['link', { rel: 'stylesheet', href: '/colours.css' }],
  ],
  buildEnd: ({ outDir }) => writeFileSync(join(outDir, 'colours.css'), coloursSheet()),
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify: anchorOf },
    config: (markdown) => {
      rewriteLinks(markdown);
      drawDiagrams(markdown);
      framePictures(markdown);
    },
    codeTransformers: [coloursAsClasses],
  },
  vite: {
    publicDir: folder('../made/public'),
    plugins: [vueOfPages],
    // The playground runs the sources of the engine and of the server.
    resolve: { conditions: ['@signet/source'], dedupe: ['yaml'] },
    worker: { format: 'es' },
    // Types are cut out and nothing else; of the target that the sources are checked for the generator does not know.
    esbuild: { tsconfigRaw: '{}' },
  },
  themeConfig: {
    search: { provider: 'local' },
    nav: [
      { text: 'Tutorial', link: '/tutorial/protect-a-service' },
      { text: 'Guides', link: '/guides/' },
      { text: 'Concepts', link: '/concepts/overview' },
      { text: 'Playground', link: '/playground' },
      { text: 'Reference', link: '/reference/' },
    ],
    sidebar: sections.map(({ name, pages }) => ({ text: name, items: pages.map(item) })),
    outline: [2, 3],
    externalLinkIcon: true,
  },
});
