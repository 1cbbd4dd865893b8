import type { Decision, Status } from '../policy/index.ts';

/**
 * Counters of an engine, for any metrics library. Exceptions are ignored: they must not change a decision. The names in the comments are those
 * that alerts and dashboards of Signet know.
 */
export interface Meter {
  /** A call was answered: `signet_engine_decisions_total{status}`, and `signet_engine_decision_duration_seconds`. */
  decided(status: Status, seconds: number): void;
  /** Records were not written: `signet_engine_records_dropped_total{reason}`. */
  recordsDropped?(reason: DropReason, count: number): void;
}

/** Too many waited; the `mask` dropped it or threw; `write` threw. */
export type DropReason = 'waiting' | 'masked' | 'failed';

/** Decides, and tells how long it took. */
export function metered(meter: Meter, decide: () => Decision): Decision {
  const started = performance.now();
  const decision = decide();
  tell(meter, decision, started);
  return decision;
}

/** The same for a decision that may take its time. */
export async function meteredLater(meter: Meter, decide: () => Promise<Decision>): Promise<Decision> {
  const started = performance.now();
  const decision = await decide();
  tell(meter, decision, started);
  return decision;
}

function tell(meter: Meter, { status }: Decision, started: number): void {
  try {
    meter.decided(status, (performance.now() - started) / 1000);
  } catch {
    // An exception of the meter must not change the decision.
  }
}

/** Tells of records that were not written. */
export function tellDropped(meter: Meter | undefined, reason: DropReason, count: number): void {
  try {
    meter?.recordsDropped?.(reason, count);
  } catch {
    // An exception of the meter must not change the decision.
  }
}
