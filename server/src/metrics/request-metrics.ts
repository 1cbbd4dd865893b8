import { Counter, Histogram, type Registry } from 'prom-client';
import type { Observer } from '../observer.ts';

/** RFC 9110 §9.3 and RFC 5789. Node's parser knows more, and a caller chooses among them. */
const methods: ReadonlySet<string> = new Set('GET HEAD POST PUT DELETE CONNECT OPTIONS TRACE PATCH'.split(' '));

interface RequestMetric {
  readonly duration: Histogram.Internal<'route' | 'method'>;
  readonly byStatus: Map<number, Counter.Internal>;
}

/**
 * Counts answers. What a route and a method need is looked up, not made, for each request: three maps, two additions. The code is not a label of
 * the durations: it would multiply their series by the number of codes.
 */
export function requestMetrics(registry: Registry, buckets: readonly number[]): Observer['answered'] {
  const registers = [registry];
  const requests = new Counter({
    name: 'signet_http_requests_total',
    help: 'Requests answered, by path pattern, method and status code.',
    labelNames: ['route', 'method', 'code'],
    registers,
  });
  const durations = new Histogram({
    name: 'signet_http_request_duration_seconds',
    help: 'Duration of requests from their headers to the response.',
    labelNames: ['route', 'method'],
    buckets: [...buckets],
    registers,
  });
  const routes = new Map<string, Map<string, RequestMetric>>();
  const metricOf = (route: string, method: string): RequestMetric => {
    const ofRoute = routes.get(route) ?? new Map<string, RequestMetric>();
    routes.set(route, ofRoute);
    const metric = { duration: durations.labels(route, method), byStatus: new Map() };
    ofRoute.set(method, metric);
    return metric;
  };
  return (route = 'none', method, status, seconds) => {
    const known = method === undefined ? 'unknown' : methods.has(method) ? method : 'other';
    const metric = routes.get(route)?.get(known) ?? metricOf(route, known);
    if (seconds !== undefined) metric.duration.observe(seconds);
    const counted = metric.byStatus.get(status);
    if (counted !== undefined) return counted.inc();
    const first = requests.labels(route, known, status === 0 ? 'aborted' : String(status));
    metric.byStatus.set(status, first);
    first.inc();
  };
}
