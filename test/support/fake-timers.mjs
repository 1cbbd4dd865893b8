/*
 * Fakes what Jest's `useFakeTimers()` fakes by default, and never advances: no callback is ever called and no time passes. As in Jest, Node's own
 * modules keep the real ones, so `process.nextTick` is faked only for callers outside of Node. `Date` is left alone: a test gives its clock.
 */

const handle = { ref: () => handle, unref: () => handle, hasRef: () => false, refresh: () => handle };

export function installFakeTimers() {
  for (const name of ['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask']) globalThis[name] = () => handle;
  for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate']) globalThis[name] = () => undefined;
  performance.now = () => 0;
  process.hrtime = Object.assign(() => [0, 0], { bigint: () => 0n });
  const { nextTick } = process;
  process.nextTick = (callback, ...args) => {
    const [, , caller = ''] = new Error('stack').stack?.split('\n') ?? [];
    if (caller.includes('node:')) nextTick(callback, ...args);
  };
}
