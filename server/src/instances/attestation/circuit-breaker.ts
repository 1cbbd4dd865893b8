/** Keeps a caller from waiting for something that does not answer: opens after failures in a row, and lets one try in after a pause. */
export interface CircuitBreaker {
  /** True if a call may be made now. When it answers true after a pause, that call is the one that decides. */
  admits(now: number): boolean;
  /** Until the next call may be made; 0 when it may be made now. */
  pauseLeft(now: number): number;
  succeeded(): void;
  failed(now: number): void;
}

/** `threshold` failures in a row open it for `pauseMs`. Times in milliseconds. */
export function createCircuitBreaker(threshold: number, pauseMs: number): CircuitBreaker {
  let failures = 0;
  let openUntil = 0;
  const pauseLeft = (now: number) => {
    const left = openUntil - now;
    // A pause longer than the maximum means that the clock was set back, so that its length is unknown.
    return failures < threshold || left <= 0 || left > pauseMs ? 0 : left;
  };
  return {
    pauseLeft,
    admits: (now) => {
      if (failures < threshold) return true;
      if (pauseLeft(now) > 0) return false;
      // INVARIANT: pushed on before the try, so that the others of this moment are not let in beside it.
      openUntil = now + pauseMs;
      return true;
    },
    succeeded: () => {
      failures = 0;
    },
    failed: (now) => {
      failures += 1;
      openUntil = now + pauseMs;
    },
  };
}
