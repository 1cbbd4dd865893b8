import { setTimeout as pause } from 'node:timers/promises';

/** Asks `probe` again and again until it answers something other than undefined or false; fails after `deadlineMs`, which is long, as a machine may be busy. */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  deadlineMs = 90_000,
): Promise<NonNullable<T>> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const answer = await probe();
    if (answer !== undefined && answer !== null && answer !== false) return answer;
    if (performance.now() > end) throw new Error(`gave up waiting until ${what}`);
    await pause(10);
  }
}
