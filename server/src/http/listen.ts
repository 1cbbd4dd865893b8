import type { Server } from 'node:net';

/** Listens; answers the port. Throws what listening throws. */
export function listen(server: Server, at: { readonly host: string; readonly port: number }): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  server.once('error', reject);
  server.listen(at.port, at.host, () => {
    server.off('error', reject);
    const address = server.address();
    resolve(typeof address === 'object' && address !== null ? address.port : at.port);
  });
  return promise;
}
