const kept: object[] = [];

/**
 * Keeps one of the objects that `process.nextTick` makes, of which a request makes four. V8 knows their shape by those that are alive: a collection that finds
 * none while it still learns has it give up, and each one costs ten times as much from then on. Has to be called early: a worker makes some while it starts.
 */
export function keepTickShape(): void {
  const { executionAsyncResource } = process.getBuiltinModule('async_hooks');
  process.nextTick(() => kept.push(executionAsyncResource()));
}
