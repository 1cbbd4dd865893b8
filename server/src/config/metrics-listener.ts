import type { ConfigValues } from './config-schema.ts';

/** Address at which the metrics are served. */
export type MetricsListener =
  | { readonly kind: 'port'; readonly host: string; readonly port: number }
  | { readonly kind: 'socket'; readonly path: string };

/** Metrics listener; undefined where none is configured: then nothing is counted. */
export function metricsListenerOf({ metrics }: Pick<ConfigValues, 'metrics'>): MetricsListener | undefined {
  const { host, port, socket } = metrics.listen;
  if (socket !== undefined) return { kind: 'socket', path: socket };
  return port === undefined ? undefined : { kind: 'port', host, port };
}
