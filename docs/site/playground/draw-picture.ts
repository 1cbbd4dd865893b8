import type { Picture, PictureBox } from './picture.ts';

/** Of a box with one line of text, and what another line adds. */
const boxHeight = 50;
const lineHeight = 18;
const gap = { between: 12, below: 30 };
const padding = 10;
/** Of a character of the larger text. */
const characterWidth = 8.2;
const shownLines = 3;

/** Draws the picture as SVG of this width in pixels. Texts become text nodes and nothing else. */
export function drawPicture(picture: Picture, width: number): SVGSVGElement {
  const rows = picture.rows.map((row) => laidOut(row, width));
  const total = rows.reduce((sum, { height }) => sum + height + gap.below, -gap.below);
  const root = svg('svg', { viewBox: `0 0 ${width} ${total + 2}`, width, height: total + 2, role: 'img' });
  root.setAttribute('aria-labelledby', 'playground-picture-title playground-picture-description');
  root.append(
    svg('title', { id: 'playground-picture-title' }, picture.title),
    svg('desc', { id: 'playground-picture-description' }, picture.description),
  );
  let top = 1;
  for (const [at, { boxes, height }] of rows.entries()) {
    const next = rows[at + 1]?.boxes ?? [];
    for (const from of boxes) root.append(...next.map((to) => arrow(from.center, to.center, top + height)));
    root.append(...boxes.map((box) => drawn(box, top, height)));
    top += height + gap.below;
  }
  return root;
}

/** A box with its place in the row. */
interface LaidOut {
  readonly box: PictureBox;
  readonly left: number;
  readonly width: number;
  readonly center: number;
  readonly lines: readonly string[];
}

function laidOut(row: readonly PictureBox[], whole: number): { boxes: readonly LaidOut[]; height: number } {
  const width = (whole - 2 - gap.between * (row.length - 1)) / row.length;
  const fits = Math.floor((width - 2 * padding) / characterWidth);
  const boxes = row.map((box, index): LaidOut => {
    const left = 1 + index * (width + gap.between);
    return { box, left, width, center: left + width / 2, lines: linesOf(box.text, fits) };
  });
  const lines = Math.max(...boxes.map((box) => box.lines.length));
  return { boxes, height: boxHeight + (lines - 1) * lineHeight };
}

/** The text in lines that fit, at words where that is possible; what is left over is cut off. */
function linesOf(text: string, fits: number): readonly string[] {
  const lines: string[] = [];
  for (let rest = text; rest !== ''; ) {
    const isLast = lines.length === shownLines - 1;
    const blank = rest.lastIndexOf(' ', fits);
    const end = rest.length <= fits || isLast || blank <= 0 ? fits : blank;
    lines.push(isLast && rest.length > fits ? `${rest.slice(0, fits - 1)}…` : rest.slice(0, end));
    rest = isLast ? '' : rest.slice(end).trimStart();
  }
  return lines;
}

function arrow(from: number, to: number, top: number): SVGElement {
  const end = top + gap.below;
  const d = `M${from} ${top} L${to} ${end - 6} M${to - 4} ${end - 8} L${to} ${end - 1} L${to + 4} ${end - 8} Z`;
  return svg('path', { d, class: 'arrow' });
}

function drawn({ box: { kind, text, tone }, left, width, lines }: LaidOut, top: number, height: number): SVGElement {
  const x = left + padding;
  const group = svg('g', { class: `box ${tone}` });
  group.append(
    svg('title', {}, `${kind}: ${text}`),
    svg('rect', { x: left, y: top, width, height, rx: 6 }),
    svg('text', { x, y: top + 19, class: 'kind' }, kind),
    ...lines.map((line, at) => svg('text', { x, y: top + 39 + at * lineHeight, class: 'name' }, line)),
  );
  return group;
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
