import type { Clock } from '@signet/policy-engine/clock';

/** A clock that stands still until it is told to go on. */
export class FakeClock implements Clock {
  #milliseconds: number;

  /** 2026-01-01T00:00:00Z unless told otherwise. */
  constructor(milliseconds = 1_767_225_600_000) {
    this.#milliseconds = milliseconds;
  }

  now(): number {
    return this.#milliseconds;
  }

  set(milliseconds: number): void {
    this.#milliseconds = milliseconds;
  }

  advance(milliseconds: number): void {
    this.#milliseconds += milliseconds;
  }
}
