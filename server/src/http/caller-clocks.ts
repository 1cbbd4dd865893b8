import { type Clock, parseHttpDate } from '@signet/policy-engine/clock';
import { clockToleranceMs } from '../model/store.ts';

/** Callers are looked at together after this time, in milliseconds. */
const intervalMs = 60_000;
/** Upper bound of the callers counted in one interval. */
const callersKept = 1000;

/** Times that the callers of one interval sent. */
export interface CallersTime {
  /** True if more than half of them have another time than this server. */
  readonly disagrees: boolean;
  readonly callers: number;
  readonly disagreeing: number;
}

interface CallerClocksDeps {
  readonly clock: Clock;
  /** Called when most callers begin to disagree, and when they no longer do. */
  readonly onChange: (time: CallersTime) => void;
}

/**
 * Compares the `Date` of authenticated requests (RFC 9110 §6.6.1) with the own clock. INVARIANT: each caller counts once an interval, and all together
 * are a warning only: callers choose what they say.
 */
export interface CallerClocks extends Disposable {
  note(caller: string, date: string): void;
  /** Looks at what was noted since the last time. */
  look(): void;
  disagree(): boolean;
}

export function watchCallerClocks({ clock, onChange }: CallerClocksDeps): CallerClocks {
  let noted = new Map<string, boolean>();
  let disagrees = false;
  const look = (): void => {
    const said = [...noted.values()];
    noted = new Map();
    const disagreeing = said.filter((isApart) => isApart).length;
    const now = 2 * disagreeing > said.length;
    // Without any caller nothing is known, and nothing has changed.
    if (said.length === 0 || now === disagrees) return;
    disagrees = now;
    onChange({ disagrees, callers: said.length, disagreeing });
  };
  const timer = setInterval(look, intervalMs).unref();
  return {
    note(caller, date) {
      if (noted.has(caller) || noted.size >= callersKept) return;
      const time = parseHttpDate(date);
      if (time !== undefined) noted.set(caller, Math.abs(time - clock.now()) > clockToleranceMs);
    },
    look,
    disagree: () => disagrees,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
