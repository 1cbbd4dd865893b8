import { connect, createServer, type Socket } from 'node:net';
import type { Ending } from './start-server.ts';

/** Passing of bytes: in both directions, in none, or only those from the client. */
type Passing = 'all' | 'none' | 'requests';

export interface StallingProxy {
  /** `host:port` of it. */
  readonly host: string;
  /** Sets the passing from now on, for existing and new connections. Neither end is told: held bytes arrive when they pass again. */
  pass(what: Passing): void;
  /** Resets every connection. */
  reset(): void;
}

/** A network between a client and a server on a socket, which can stall without ending a connection; it ends with the test. */
export async function startStallingProxy(t: Ending, socketPath: string): Promise<StallingProxy> {
  const pairs = new Set<readonly [client: Socket, upstream: Socket]>();
  let passing: Passing = 'all';
  const apply = ([client, upstream]: readonly [Socket, Socket]) => {
    if (passing === 'none') client.pause();
    else client.resume();
    if (passing === 'all') upstream.resume();
    else upstream.pause();
  };
  const proxy = createServer((client) => {
    const upstream = connect(socketPath);
    const pair = [client, upstream] as const;
    pairs.add(pair);
    for (const [from, to] of [pair, [upstream, client] as const]) {
      from.setNoDelay(true);
      from.on('data', (bytes) => to.write(bytes));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        to.destroy();
        pairs.delete(pair);
      });
    }
    apply(pair);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const [client] of pairs) client.destroy();
    proxy.close();
  });
  const address = proxy.address();
  return {
    host: `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    pass: (what) => {
      passing = what;
      for (const pair of pairs) apply(pair);
    },
    reset: () => {
      for (const [client] of pairs) client.resetAndDestroy();
    },
  };
}
