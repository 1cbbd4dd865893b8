const kept: object[] = [];

/**
 * Keeps one of the objects that `process.nextTick` makes, of which a request makes four. V8 knows their shape only as long as one is alive or compiled
 * code needs it: a collection that finds none while it learns has it give up for good, and each costs 6,500 instructions more from then on. Has to be
 * called early: where a process has a parent, each listener of `process` makes one (docs/decisions/094).
 */
export function keepTickShape(): void {
  const { executionAsyncResource } = process.getBuiltinModule('async_hooks');
  process.nextTick(() => kept.push(executionAsyncResource()));
}
