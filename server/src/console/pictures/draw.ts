import { type Html, html } from '../html.ts';
import type { Picture } from './picture.ts';
import { type PlacedPicture, placeAcross, placeDown } from './place-boxes.ts';

/** The picture of a decision twice: from left to right, and from top to bottom for a narrow screen, where the first one is not shown. */
export function drawPicture(picture: Picture): Html {
  return html`<figure class="picture">
${drawn(placeAcross(picture, 1000), picture, 'wide')}
${drawn(placeDown(picture, 320), picture, 'narrow')}
</figure>`;
}

function drawn({ width, height, boxes, arrows }: PlacedPicture, picture: Picture, shape: 'wide' | 'narrow'): Html {
  return html`<svg class="${shape}" role="img" aria-labelledby="${shape}-title ${shape}-words" viewBox="0 0 ${width} ${height}">
<title id="${shape}-title">${picture.title}</title><desc id="${shape}-words">${picture.description}</desc>
${arrows.map((d) => html`<path class="arrow" d="${d}"/>`)}
${boxes.map(
  ({ box, left, top, width: boxWidth, height: boxHeight, x, kind, text }) => html`<g class="box ${box.tone}">
<rect x="${left}" y="${top}" width="${boxWidth}" height="${boxHeight}" rx="8"/>
${kind.map((line) => html`<text class="kind" x="${x}" y="${line.y}">${line.text}</text>`)}
${text.map((line) => html`<text class="name" x="${x}" y="${line.y}">${line.text}</text>`)}</g>`,
)}</svg>`;
}
