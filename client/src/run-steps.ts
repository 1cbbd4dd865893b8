import { setTimeout as pause } from 'node:timers/promises';

/** The longest sleep between two steps: a clock that is set, or a file that is removed, is noticed by then. */
const maxSleepMs = 60_000;

/** Delay before the next step, in milliseconds. */
export function sleepMs(nextAt: number, now: number): number {
  return Math.min(maxSleepMs, Math.max(100, nextAt - now));
}

interface StepRules<Outcome> {
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Handler of an outcome; its promise is awaited. */
  readonly onOutcome: (outcome: Outcome) => unknown;
}

/** Steps whenever something is due, until the signal fires. `nextAt`: when the next step is due, in milliseconds since the epoch. */
export async function runSteps<Outcome extends { readonly nextAt: number }>(
  step: (signal: AbortSignal) => Promise<Outcome>,
  { signal, now, onOutcome }: StepRules<Outcome>,
): Promise<void> {
  while (!signal.aborted) {
    const outcome = await step(signal);
    if (signal.aborted) return;
    await onOutcome(outcome);
    await pause(sleepMs(outcome.nextAt, now()), undefined, { signal }).catch(() => undefined);
  }
}
