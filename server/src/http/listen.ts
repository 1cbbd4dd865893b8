import type { Server } from 'node:net';

interface ListenAt {
  readonly host: string;
  readonly port: number;
  /** Whether other processes may listen there, too: the kernel gives each a share of the connections. */
  readonly reusePort: boolean;
}

/** Listens; answers the port. Throws what listening throws. */
export function listen(server: Server, { host, port, reusePort }: ListenAt): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once('error', reject);
  server.listen({ host, port, reusePort }, () => {
    server.off('error', reject);
    const address = server.address();
    resolve(typeof address === 'object' && address !== null ? address.port : port);
  });
  return promise;
}
