import type { Clock } from '../clock.ts';

/** Clock that advances only on order. Milliseconds since the epoch. */
export class TestClock implements Clock {
  #now: number;

  /** 2026-01-01T00:00:00Z unless told otherwise. */
  constructor(now = 1_767_225_600_000) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  set(now: number): void {
    this.#now = now;
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }
}
