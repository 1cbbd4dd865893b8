import type { Picture, PictureBox } from './picture.ts';

const height = { box: 50, gap: 30 };
const gapBetween = 12;
const padding = 10;
/** Of a character of the larger text; boxes cut off what does not fit. */
const characterWidth = 8.2;

/** Draws the picture as SVG of this width in pixels. Texts become text nodes and nothing else. */
export function drawPicture(picture: Picture, width: number): SVGSVGElement {
  const total = picture.rows.length * (height.box + height.gap) - height.gap;
  const root = svg('svg', { viewBox: `0 0 ${width} ${total + 2}`, width, height: total + 2, role: 'img' });
  root.setAttribute('aria-labelledby', 'playground-picture-title playground-picture-description');
  root.append(
    svg('title', { id: 'playground-picture-title' }, picture.title),
    svg('desc', { id: 'playground-picture-description' }, picture.description),
  );
  for (const [at, row] of picture.rows.entries()) {
    const top = 1 + at * (height.box + height.gap);
    const next = picture.rows[at + 1] ?? [];
    for (const from of centers(row, width)) {
      root.append(...centers(next, width).map((to) => arrow(from, to, top + height.box)));
    }
    root.append(...row.map((box, index) => boxOf(box, index, row.length, { width, top })));
  }
  return root;
}

function boxWidth(count: number, width: number): number {
  return (width - 2 - gapBetween * (count - 1)) / count;
}

function left(index: number, count: number, width: number): number {
  return 1 + index * (boxWidth(count, width) + gapBetween);
}

function centers(row: readonly PictureBox[], width: number): readonly number[] {
  return row.map((_, index) => left(index, row.length, width) + boxWidth(row.length, width) / 2);
}

function arrow(from: number, to: number, top: number): SVGElement {
  const end = top + height.gap;
  const d = `M${from} ${top} L${to} ${end - 6} M${to - 4} ${end - 8} L${to} ${end - 1} L${to + 4} ${end - 8} Z`;
  return svg('path', { d, class: 'arrow' });
}

function boxOf(
  { kind, text, tone }: PictureBox,
  index: number,
  count: number,
  { width, top }: { readonly width: number; readonly top: number },
): SVGElement {
  const x = left(index, count, width);
  const inside = boxWidth(count, width);
  const group = svg('g', { class: `box ${tone}` });
  const fits = Math.floor((inside - 2 * padding) / characterWidth);
  group.append(
    svg('title', {}, `${kind}: ${text}`),
    svg('rect', { x, y: top, width: inside, height: height.box, rx: 6 }),
    svg('text', { x: x + padding, y: top + 19, class: 'kind' }, cut(kind, fits)),
    svg('text', { x: x + padding, y: top + 39, class: 'name' }, cut(text, fits)),
  );
  return group;
}

function cut(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, Math.max(length - 1, 1))}…` : text;
}

function svg<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string | number>>,
  text = '',
): SVGElementTagNameMap[Name] {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, String(value));
  element.textContent = text;
  return element;
}
