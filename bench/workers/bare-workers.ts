/** The bare server of the part `token` in two processes on one port, started with the same arguments. */
import cluster from 'node:cluster';

const processes = 2;

if (cluster.isPrimary) {
  for (let count = 0; count < processes; count += 1) cluster.fork();
  process.once('SIGTERM', () => {
    for (const worker of Object.values(cluster.workers ?? {})) worker?.kill();
  });
} else {
  await import('../token/servers/bare.ts');
}
