import { instance } from '@viz-js/viz';
import type { MarkdownOptions } from 'vitepress';

type Markdown = Parameters<NonNullable<MarkdownOptions['config']>>[0];

const viz = await instance();
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** Colours come from the style sheet, and letters that are a little smaller than is reckoned with here, as fonts differ. */
const looks = {
  graphAttributes: { bgcolor: 'transparent', fontname: 'Arial, sans-serif', fontsize: 12, nodesep: 0.6, pad: 0.1 },
  nodeAttributes: { shape: 'box', style: 'rounded', margin: '0.3,0.1', fontname: 'Arial, sans-serif', fontsize: 12 },
  edgeAttributes: { fontname: 'Arial, sans-serif', fontsize: 12 },
};

/** A picture of a graph in DOT; the comment lines at its head describe it to those who do not see it. */
function pictureOf(title: string, source: string): string {
  const description = [...source.matchAll(/^\/\/ (.*)$/gm)].map(([, line]) => line).join(' ');
  const svg = viz.renderString(source, { format: 'svg_inline', ...looks });
  const named = `<title>${escaped(title)}</title><desc>${escaped(description)}</desc>`;
  const plain = svg
    .replaceAll(/<title>.*?<\/title>\n?/gs, '')
    .replaceAll(/<!--.*?-->\n?/gs, '')
    .replaceAll(/ id="[^"]*"/g, '');
  const picture = plain.replace(
    /<svg width="([\d.]+)pt" height="[\d.]+pt"/,
    '<svg role="img" class="diagram" width="$1pt"',
  );
  return `<figure v-pre tabindex="0">${picture.replace(/(<svg[^>]*>)/, `$1${named}`)}<figcaption>${escaped(title)}</figcaption></figure>\n`;
}

/** Shows code blocks of the language `dot` as pictures, called by what stands behind the name of the language. */
export function drawDiagrams(markdown: Markdown): void {
  const { fence } = markdown.renderer.rules;
  if (fence === undefined) throw new Error('code blocks are not rendered by a rule');
  markdown.renderer.rules.fence = (...args) => {
    const [tokens, index] = args;
    const { info = '', content = '' } = tokens[index] ?? {};
    return info.startsWith('dot ') ? pictureOf(info.slice('dot '.length), content) : fence(...args);
  };
}
