import { closeSync, openSync } from 'node:fs';

/** Interval of the check whether a file can be opened. */
const lookMs = 1000;

/**
 * Tells when this process has no file descriptor left. Node says nothing then: libuv takes each waiting connection with a
 * descriptor that it keeps for that, and closes it. What is needed to see it is one that can be opened, once a second.
 */
export function watchDescriptors(onExhausted: () => void): Disposable {
  const timer = setInterval(() => {
    if (hasNone()) onExhausted();
  }, lookMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

function hasNone(): boolean {
  try {
    closeSync(openSync('/', 'r'));
    return false;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    return code === 'EMFILE' || code === 'ENFILE';
  }
}
