import { isMainThread } from 'node:worker_threads';

/*
 * Loaded before a program that `signet dev` starts (node --import): a supervisor that was killed cannot stop its programs, so they
 * end by themselves, in order, when the channel to it closes.
 */
if (isMainThread && process.channel !== undefined) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel?.unref();
}
