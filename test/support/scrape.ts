/** Series of a scrape as they are written, e.g. `signet_tokens_issued_total{kind="access"}`, with their values. */
export type Series = ReadonlyMap<string, number>;

/** Reads the text format of Prometheus. */
export function seriesIn(text: string): Series {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const end = line.lastIndexOf(' ');
      const value = line.slice(end + 1);
      return [line.slice(0, end), value === 'Nan' ? Number.NaN : Number(value)];
    }),
  );
}

/** The names of metrics that the text describes. */
export function metricNames(text: string): readonly string[] {
  return [...text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name);
}

/** The series of these metrics that another scrape has more of, and how much more. */
export function grown(before: Series, after: Series, ...metrics: readonly string[]): Readonly<Record<string, number>> {
  const ofThese = [...after].filter(([series]) =>
    metrics.some((name) => series === name || series.startsWith(`${name}{`)),
  );
  const more = ofThese.map(([series, value]) => [series, value - (before.get(series) ?? 0)] as const);
  return Object.fromEntries(more.filter(([, by]) => by !== 0));
}
