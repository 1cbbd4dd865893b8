import { collectDefaultMetrics, type Registry } from 'prom-client';

/** Gauges whose names end as those of counters do: `nodejs_active_resources` has what they say. */
const misnamed = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/** Processor time, memory, descriptors, event loop and garbage collection of this process, by their usual names. */
export function watchProcess(registry: Registry): void {
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
}
