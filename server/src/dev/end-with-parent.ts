import cluster from 'node:cluster';
import { isMainThread } from 'node:worker_threads';

/*
 * Loaded before a program that `signet dev` starts (node --import): a supervisor that was killed cannot stop its programs, so they
 * end by themselves, in order, when the channel to it closes. Workers of a program have that program as their parent.
 */
if (isMainThread && cluster.isPrimary && process.channel !== undefined) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel?.unref();
}
