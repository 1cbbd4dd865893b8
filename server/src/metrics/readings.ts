import { AggregatorRegistry, Registry, type RegistryContentType } from 'prom-client';
import { z } from 'zod';

/** Number; between processes one without JSON text is `null`. */
const value = z.union([z.number(), z.nan(), z.null().transform(() => Number.NaN)]);

const reading = z.object({
  name: z.string(),
  help: z.string(),
  type: z.enum(['counter', 'gauge', 'histogram', 'summary']),
  aggregator: z.enum(['sum', 'first', 'omit', 'average', 'min', 'max']),
  values: z.array(
    z.object({
      value,
      labels: z.record(z.string(), z.union([z.string(), z.number()])),
      metricName: z.string().optional(),
    }),
  ),
});

/** Metrics of one process, in the form sent to another one. */
export const readingsSchema = z.array(reading);

export type Reading = z.infer<typeof reading>;

/** The metric of lost lines, which a parent without a registry has too. */
export const lostLinesMetric = {
  name: 'signet_log_lines_lost_total',
  help: 'Lines of the log that could not be written.',
} as const;

/** The same as the library gives it. */
type Named = { readonly name: string };

/** The two formats that scrapers ask for. */
type Format = 'text' | 'openmetrics';

/** The metrics of all processes of a server in one text, with its type. */
export async function exposition(
  processes: readonly (readonly Named[])[],
  format: Format,
): Promise<{ readonly contentType: string; readonly text: string }> {
  // The library ends the names of counters by itself in OpenMetrics; those of several processes it does not shorten before.
  const shorten = format === 'openmetrics' ? withoutTotal : (name: string) => name;
  const registry: Registry<RegistryContentType> = AggregatorRegistry.aggregate(
    processes.map((each) => each.map((metric) => ({ ...metric, name: shorten(metric.name) }))),
  );
  registry.setContentType(format === 'text' ? Registry.PROMETHEUS_CONTENT_TYPE : Registry.OPENMETRICS_CONTENT_TYPE);
  return { contentType: registry.contentType, text: await registry.metrics() };
}

function withoutTotal(name: string): string {
  return name.replace(/_total$/, '');
}

/** Readings that stay after their process has ended: a falling sum would be taken for a restart of everything it sums up. */
export function lasting(readings: readonly Reading[]): readonly Reading[] {
  return readings.filter(
    ({ type, aggregator }) => aggregator !== 'omit' && (type === 'counter' || type === 'histogram'),
  );
}

/** The same of one more process. */
export async function addUp(ended: readonly Reading[], more: readonly Reading[]): Promise<readonly Reading[]> {
  const registry = AggregatorRegistry.aggregate([[...ended], [...lasting(more)]]);
  return readingsSchema.parse(await registry.getMetricsAsJSON());
}
