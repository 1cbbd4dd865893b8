import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { temporaryFolder } from './temp.ts';

/** A file descriptor of a pipe that is full and never read, to start programs with. */
export function unreadPipe(t: ExecutionContext): number {
  const path = join(temporaryFolder(t), 'pipe');
  execFileSync('mkfifo', [path]);
  // With a reader of its own the pipe is never broken.
  const filler = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  for (const size of [4096, 1]) {
    try {
      for (;;) writeSync(filler, 'x'.repeat(size));
    } catch {
      // Full.
    }
  }
  const end = openSync(path, constants.O_RDWR);
  t.teardown(() => {
    closeSync(filler);
    closeSync(end);
  });
  return end;
}
