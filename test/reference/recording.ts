/** One command of a terminal session, as it is shown, and what it printed. */
export interface Recorded {
  readonly command: string;
  readonly output: string;
}

const [columns, lineHeight, margin, width] = [104, 20, 18, 920];
const colours = { background: '#0d1117', command: '#f0f6fc', output: '#9da7b3', bad: '#ff7b72', good: '#7ee787' };

/** Draws a terminal session as an SVG image. Lines about lost access and refusals are red, what was granted is green. */
export function drawRecording(steps: readonly Recorded[]): string {
  const lines = steps.flatMap(({ command, output }, index) => [
    ...(index === 0 ? [] : ['']),
    ...wrap(`$ ${command}`).map((text) => line(text, colours.command)),
    ...output
      .trimEnd()
      .split('\n')
      .flatMap(wrap)
      .map((text) => line(text, colourOf(text))),
  ]);
  const rows = lines.map((content, row) => content.replace('Y', String(margin + (row + 1) * lineHeight)));
  const height = 2 * margin + (lines.length + 1) * lineHeight;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="14">
<title>A change of policy in a terminal</title>
<rect width="${width}" height="${height}" rx="8" fill="${colours.background}"/>
${rows.filter((row) => row !== '').join('\n')}
</svg>
`;
}

function line(text: string, colour: string): string {
  return `<text x="${margin}" y="Y" fill="${colour}" xml:space="preserve">${escapeXml(text)}</text>`;
}

function colourOf(text: string): string {
  if (/\bloses\b|^403$|\bDENY|not granted/.test(text)) return colours.bad;
  return /\bgains\b|^200$|\bchanged/.test(text) ? colours.good : colours.output;
}

/** Breaks a line at the width of the terminal, as a terminal does. */
function wrap(text: string): string[] {
  const parts = text.match(new RegExp(`.{1,${columns}}`, 'g'));
  return parts === null ? [''] : [...parts];
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
