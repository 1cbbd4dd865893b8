import type { Picture } from '@signet/server/console/pictures/picture';
import { type PlacedPicture, placeDown } from '@signet/server/console/pictures/place-boxes';

/** Draws the picture as SVG of this width in pixels. Texts become text nodes and nothing else. */
export function drawPicture(picture: Picture, width: number): SVGSVGElement {
  const { height, boxes, arrows } = placeDown(picture, width);
  const root = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img' });
  root.setAttribute('aria-labelledby', 'playground-picture-title playground-picture-description');
  root.append(
    svg('title', { id: 'playground-picture-title' }, picture.title),
    svg('desc', { id: 'playground-picture-description' }, picture.description),
    ...arrows.map((d) => svg('path', { d, class: 'arrow' })),
    ...boxes.map(drawn),
  );
  return root;
}

function drawn({ box, left, top, width, height, x, kind, text }: PlacedPicture['boxes'][number]): SVGElement {
  const group = svg('g', { class: `box ${box.tone}` });
  group.append(
    svg('title', {}, `${box.kind}: ${box.text}`),
    svg('rect', { x: left, y: top, width, height, rx: 6 }),
    ...kind.map((line) => svg('text', { x, y: line.y, class: 'kind' }, line.text)),
    ...text.map((line) => svg('text', { x, y: line.y, class: 'name' }, line.text)),
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
