import type { Pace } from '@signet/server/turns/signing-turns';

/** Time that passes when it is told to. */
export class TestPace implements Pace {
  #now = 0;
  #waiting: { readonly at: number; readonly resolve: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.#waiting.push({ at: this.#now + ms, resolve }));
  }

  async advance(ms: number): Promise<void> {
    this.#now += ms;
    const due = this.#waiting.filter(({ at }) => at <= this.#now);
    this.#waiting = this.#waiting.filter(({ at }) => at > this.#now);
    for (const { resolve } of due) resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
