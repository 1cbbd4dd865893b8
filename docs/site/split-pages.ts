import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { anchorOf } from './links.ts';

/* Splits pages of types that are too long to scroll through, and leads the links to their parts. */

/** A longer page is split. */
const maxLines = 700;

/** What an export is documented with. */
interface Block {
  readonly kind: string;
  readonly name: string;
  readonly text: string;
}

interface Part {
  readonly file: string;
  readonly blocks: readonly Block[];
}

const countLines = (text: string): number => text.split('\n').length;

/** The exports of a page, in order. */
function blocksOf(text: string): Block[] {
  return text.split(/^(?=## )/m).flatMap((section) => {
    const kind = /^## (.*)$/m.exec(section)?.[1];
    if (kind === undefined) return [];
    return section
      .split(/^(?=### )/m)
      .slice(1)
      .map((block) => ({ kind, name: /^### (.*)$/m.exec(block)?.[1] ?? '', text: block }));
  });
}

function partsOf(page: string, blocks: readonly Block[]): Part[] {
  const parts: Block[][] = [];
  let lines = maxLines;
  for (const block of blocks) {
    const length = countLines(block.text);
    if (lines + length > maxLines) {
      parts.push([]);
      lines = 0;
    }
    parts.at(-1)?.push(block);
    lines += length;
  }
  return parts.map((own, at) => ({ file: page.replace(/\.md$/, `-${at + 1}.md`), blocks: own }));
}

/** The anchor of each heading and of each row, numbered where one is there already, as the site numbers them. */
function anchorsOf(text: string): string[] {
  const seen = new Map<string, number>();
  return [...text.matchAll(/^#+ (.*)$|<a id="([^"]*)">/gm)].map(([, heading, id]) => {
    if (heading === undefined) return id ?? '';
    const anchor = anchorOf(heading);
    const count = seen.get(anchor) ?? 0;
    seen.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}

function textOf(title: string, blocks: readonly Block[]): string {
  const sections = blocks.map(({ kind, text }, at) => (kind === blocks[at - 1]?.kind ? text : `## ${kind}\n\n${text}`));
  return `# ${title}\n\n${sections.join('')}`;
}

/** Where the anchors of a page are once it is split. */
function placesOf(title: string, parts: readonly Part[]): Map<string, string> {
  const blocks = parts.flatMap((part) => part.blocks);
  const headings = (text: string) => anchorsOf(text).length;
  const whole = anchorsOf(textOf(title, blocks));
  const places = new Map<string, string>();
  let at = 1;
  for (const [index, { file, blocks: own }] of parts.entries()) {
    const text = textOf(title, own);
    // A kind that goes on has its heading again in the next part.
    const isContinued = parts[index - 1]?.blocks.at(-1)?.kind === own[0]?.kind;
    const anchors = anchorsOf(text).slice(isContinued ? 2 : 1);
    for (const [offset, anchor] of anchors.entries()) places.set(whole[at + offset] ?? '', `${file}#${anchor}`);
    at += headings(text) - (isContinued ? 2 : 1);
  }
  return places;
}

/** The first page of a split one: links to its exports. */
function contentsOf(head: string, parts: readonly Part[]): string {
  let last = '';
  const lines = parts.flatMap(({ file, blocks }) =>
    blocks.map(({ kind, name }) => {
      const heading = kind === last ? '' : `\n## ${kind}\n\n`;
      last = kind;
      return `${heading}- [${name}](${file}#${anchorOf(name)})\n`;
    }),
  );
  return `${head.trimEnd()}\n${lines.join('')}`;
}

/** Splits the pages of a folder that are too long. */
export function splitLongPages(folder: string): void {
  const texts = new Map(
    globSync('**/*.md', { cwd: folder }).map((page) => [page, readFileSync(join(folder, page), 'utf8')]),
  );
  const places = new Map<string, Map<string, string>>();
  for (const [page, text] of [...texts]) {
    const blocks = blocksOf(text);
    if (countLines(text) <= maxLines || blocks.length < 2) continue;
    const title = /^# (.*)$/m.exec(text)?.[1] ?? page;
    const parts = partsOf(page, blocks);
    const partPlaces = placesOf(`${title}, part`, parts);
    places.set(page, partPlaces);
    const [head = ''] = text.split(/^(?=## )/m);
    texts.set(page, contentsOf(head, parts));
    for (const [at, { file, blocks: own }] of parts.entries()) {
      texts.set(file, textOf(`${title}, part ${at + 1}`, own));
      places.set(file, partPlaces);
    }
  }
  for (const [page, text] of texts) writeFileSync(join(folder, page), withPlaces(page, text, places));
}

/** The text with its links to pages that are split led to the parts. */
function withPlaces(page: string, text: string, places: ReadonlyMap<string, ReadonlyMap<string, string>>): string {
  return text.replaceAll(/\]\(([\w./-]*)#([^)\s]+)\)/g, (link, path: string, anchor: string) => {
    const target = path === '' ? page : posix.join(posix.dirname(page), path);
    // The links of the first page name parts already.
    if (/-\d+\.md$/.test(path)) return link;
    const place = places.get(target)?.get(anchor);
    return place === undefined ? link : `](${posix.relative(posix.dirname(page), place)})`;
  });
}
