import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { init } from 'echarts';

/*
 * Draws pictures: reads a JSON list of them from the file of the first argument and writes one SVG each into the folder of the second one.
 * A picture has a name, a title, a unit and rows; a row has a label, an aim or none, and a median with its extremes for each run.
 * Written in JavaScript, as its library is installed for this file alone.
 */

const ink = '#24292f';
const faint = '#d0d7de';
const reachedColor = '#1a7f37';
const missedColor = '#cf222e';
const plainColor = '#0969da';
const rowHeight = 56;
const width = 860;

const [input, folder] = process.argv.slice(2);
for (const picture of JSON.parse(readFileSync(input, 'utf8'))) {
  writeFileSync(join(folder, `${picture.name}.svg`), draw(picture));
}

function draw({ title, unit, rows }) {
  const height = 70 + rowHeight * rows.length;
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  chart.setOption({
    animation: false,
    backgroundColor: '#ffffff',
    textStyle: { fontFamily: 'sans-serif', color: ink },
    grid: { left: 400, right: 40, top: 16, bottom: 50 },
    xAxis: {
      ...axisOf(rows),
      name: unit === '' ? 'times' : unit,
      nameLocation: 'middle',
      nameGap: 28,
      axisLabel: { color: ink, hideOverlap: true },
      nameTextStyle: { color: ink },
      splitLine: { lineStyle: { color: faint } },
    },
    yAxis: {
      type: 'category',
      inverse: true,
      data: rows.map(({ label }) => label),
      axisLabel: { color: ink, width: 385, overflow: 'break', lineHeight: 16 },
      axisTick: { show: false },
    },
    series: [runsOf(rows), aimsOf(rows)],
  });
  // Its styles are for a pointer above it, which a picture does not have.
  const svg = chart.renderToSVGString().replaceAll(/<style[\s\S]*?<\/style>\n?/g, '');
  chart.dispose();
  const words = rows.map(inWords).join(' ');
  return `${svg.replace(/^<svg /, '<svg role="img" ').replace(/>/, `><title>${asXml(title)}</title><desc>${asXml(words)}</desc>`)}\n`;
}

/** From nought where that says more; by powers of ten where the rows lie far apart. */
function axisOf(rows) {
  const values = rows.flatMap(({ runs, aim }) => [...runs.map(({ median }) => median), ...(aim ? [aim.value] : [])]);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least > 0 && most / least > 30 ? { type: 'log' } : { type: 'value', min: 0 };
}

/** A whisker from the lowest to the highest round of each run, with a dot at its median. */
function runsOf(rows) {
  const data = rows.flatMap(({ runs, aim }, row) =>
    runs.map(({ median, low, high }, run) => ({
      value: [low, high, row, (run - (runs.length - 1) / 2) * 11],
      median,
      itemStyle: { color: colorOf(aim, median) },
    })),
  );
  return {
    type: 'custom',
    clip: true,
    encode: { x: [0, 1], y: 2 },
    data,
    renderItem: ({ dataIndex }, api) => {
      const [row, shift] = [api.value(2), api.value(3)];
      const [from, y] = api.coord([api.value(0), row]);
      const [to] = api.coord([api.value(1), row]);
      const [dot] = api.coord([data[dataIndex].median, row]);
      const color = api.visual('color');
      const line = { type: 'line', shape: { x1: from, x2: to, y1: y + shift, y2: y + shift } };
      return {
        type: 'group',
        children: [
          { ...line, style: { stroke: color, lineWidth: 1.5, opacity: 0.5 } },
          { type: 'circle', shape: { cx: dot, cy: y + shift, r: 4 }, style: { fill: color } },
        ],
      };
    },
  };
}

/** An upright line where the aim lies. */
function aimsOf(rows) {
  return {
    type: 'custom',
    encode: { x: 0, y: 1 },
    data: rows.flatMap(({ aim }, row) => (aim ? [[aim.value, row]] : [])),
    renderItem: (_, api) => {
      const [x, y] = api.coord([api.value(0), api.value(1)]);
      const reach = rowHeight / 2 - 6;
      return {
        type: 'line',
        shape: { x1: x, x2: x, y1: y - reach, y2: y + reach },
        style: { stroke: ink, lineWidth: 2, lineDash: [5, 3] },
      };
    },
  };
}

function colorOf(aim, median) {
  if (!aim) return plainColor;
  const isReached = aim.kind === 'at most' ? median <= aim.value : median >= aim.value;
  return isReached ? reachedColor : missedColor;
}

function inWords({ label, runs, aim }) {
  const medians = runs.map(({ median }) => Number(median.toPrecision(3))).join(', ');
  return `${label}: ${medians}${aim ? `; aim ${aim.kind} ${aim.value}` : ''}.`;
}

function asXml(text) {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}
