import type { Picture, PictureBox } from './picture.ts';

/* Places of the boxes and arrows of a picture, in pixels. Pure: the site draws them with the DOM, the console as text. */

interface PlacedLine {
  readonly text: string;
  readonly y: number;
}

interface PlacedBox {
  readonly box: PictureBox;
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
  /** Of all lines. */
  readonly x: number;
  readonly kind: readonly PlacedLine[];
  readonly text: readonly PlacedLine[];
}

export interface PlacedPicture {
  readonly width: number;
  readonly height: number;
  readonly boxes: readonly PlacedBox[];
  /** Data of paths. */
  readonly arrows: readonly string[];
}

/** Line heights of the two texts of a box, and the average width of a character. */
const kindLine = { height: 16, character: 6.6 };
const textLine = { height: 18, character: 8.2 };
const padding = { x: 10, top: 5, bottom: 8 };
const gap = { between: 12, arrow: 30 };
/** Lines of one text; what is left over is cut off. */
const shownLines = 4;

/** Rows one below the other, as wide as the picture: for a narrow screen. */
export function placeDown({ rows }: Picture, width: number): PlacedPicture {
  let top = 1;
  const placed = rows.map((row) => {
    const boxWidth = (width - 2 - gap.between * (row.length - 1)) / row.length;
    const sized = row.map((box) => sizedBox(box, boxWidth));
    const height = Math.max(...sized.map((box) => box.height));
    const boxes = sized.map((box, at) => placedAt(box, { left: 1 + at * (boxWidth + gap.between), top, height }));
    top += height + gap.arrow;
    return boxes;
  });
  const arrows = between(placed, (from, to) => {
    const [start, end] = [from.top + from.height, to.top];
    const [x0, x1] = [middle(from.left, from.width), middle(to.left, to.width)];
    return `M${x0} ${start} L${x1} ${end - 6} M${x1 - 4} ${end - 8} L${x1} ${end - 1} L${x1 + 4} ${end - 8} Z`;
  });
  return { width, height: top - gap.arrow + 1, boxes: placed.flat(), arrows };
}

/** Columns from left to right, whose widths follow their texts: for a wide screen. */
export function placeAcross({ rows: columns }: Picture, width: number): PlacedPicture {
  const widths = columnWidths(columns, width - 2 - gap.arrow * (columns.length - 1));
  let left = 1;
  const placed = columns.map((column, at) => {
    const boxWidth = widths[at] ?? 0;
    let top = 0;
    const boxes = column.map((box) => {
      const sized = sizedBox(box, boxWidth);
      const result = placedAt(sized, { left, top, height: sized.height });
      top += sized.height + gap.between;
      return result;
    });
    left += boxWidth + gap.arrow;
    return { boxes, height: top - gap.between };
  });
  const height = Math.max(...placed.map((column) => column.height)) + 2;
  const centered = placed.map((column) => {
    const down = (height - column.height) / 2;
    return column.boxes.map((box) => moved(box, down));
  });
  const arrows = between(centered, (from, to) => {
    const [start, end] = [from.left + from.width, to.left];
    const [y0, y1] = [middle(from.top, from.height), middle(to.top, to.height)];
    return `M${start} ${y0} L${end - 6} ${y1} M${end - 8} ${y1 - 4} L${end - 1} ${y1} L${end - 8} ${y1 + 4} Z`;
  });
  return { width, height, boxes: centered.flat(), arrows };
}

/** Every column has a share for what all need, and the rest by the square root of its longest text. */
function columnWidths(columns: Picture['rows'], whole: number): readonly number[] {
  const share = (whole * 0.45) / columns.length;
  const weights = columns.map((column) => Math.sqrt(Math.max(...column.map(({ text }) => text.length))));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => share + (whole * 0.55 * weight) / sum);
}

/** A box with its lines, whose places begin at the top of the box. */
type SizedBox = Pick<PlacedBox, 'box' | 'width' | 'height' | 'kind' | 'text'>;

function sizedBox(box: PictureBox, width: number): SizedBox {
  const room = width - 2 * padding.x;
  const kind = linesOf(box.kind, Math.floor(room / kindLine.character));
  const text = linesOf(box.text, Math.floor(room / textLine.character));
  const below = padding.top + kind.length * kindLine.height;
  return {
    box,
    width,
    height: below + text.length * textLine.height + padding.bottom,
    kind: kind.map((line, at) => ({ text: line, y: padding.top + (at + 1) * kindLine.height - 3 })),
    text: text.map((line, at) => ({ text: line, y: below + (at + 1) * textLine.height - 3 })),
  };
}

function placedAt(box: SizedBox, { left, top, height }: { left: number; top: number; height: number }): PlacedBox {
  return moved({ ...box, left, top: 0, height, x: left + padding.x }, top);
}

function moved(box: PlacedBox, down: number): PlacedBox {
  const lower = (line: PlacedLine) => ({ ...line, y: line.y + down });
  return { ...box, top: box.top + down, kind: box.kind.map(lower), text: box.text.map(lower) };
}

/** An arrow from each box to each one of the next row. */
function between(
  rows: readonly (readonly PlacedBox[])[],
  arrow: (from: PlacedBox, to: PlacedBox) => string,
): readonly string[] {
  return rows.flatMap((row, at) => row.flatMap((from) => (rows[at + 1] ?? []).map((to) => arrow(from, to))));
}

function middle(start: number, length: number): number {
  return start + length / 2;
}

/** The text in lines that fit, at blanks or behind the separators of names where that is possible. */
function linesOf(text: string, fits: number): readonly string[] {
  const lines: string[] = [];
  let rest = text;
  while (rest.length > fits && lines.length < shownLines - 1) {
    const place = /^.*[ :.,/-]/s.exec(rest.slice(0, fits + 1).replace(/[^ ]$/, ''))?.[0].length ?? 0;
    const end = place > fits / 3 ? place : fits;
    lines.push(rest.slice(0, end).trimEnd());
    rest = rest.slice(end).trimStart();
  }
  return [...lines, rest.length > fits ? `${rest.slice(0, fits - 1)}…` : rest];
}
