import { connect, createServer, type Socket } from 'node:net';
import type { Ending } from './start-server.ts';

export interface BalancerOptions {
  /** First bytes of each connection to the server. */
  readonly header: () => Buffer;
  /** `together`: with the first bytes of the client in one write; `bytes`: byte by byte. Default: in a write of its own. */
  readonly sends?: 'together' | 'bytes';
}

/** A balancer of TCP in front of a server; it ends with the test. Answers the base URL of the server through it. */
export async function startBalancer(t: Ending, baseUrl: string, options: BalancerOptions): Promise<string> {
  const { port } = new URL(baseUrl);
  const sockets = new Set<Socket>();
  const balancer = createServer((client) => {
    const upstream = connect(Number(port), '127.0.0.1');
    upstream.setNoDelay(true);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => other.destroy());
    }
    client.once('data', (first) => {
      client.pause();
      void begin(upstream, options, first).then(() => client.pipe(upstream));
    });
    upstream.pipe(client);
  });
  await new Promise<void>((resolve) => balancer.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    balancer.close();
  });
  const address = balancer.address();
  const own = new URL(baseUrl);
  own.port = String(typeof address === 'object' ? address?.port : '');
  return own.href.replace(/\/$/, '');
}

async function begin(upstream: Socket, { header, sends }: BalancerOptions, first: Buffer): Promise<void> {
  const write = (bytes: Buffer) => new Promise<void>((resolve) => upstream.write(bytes, () => resolve()));
  if (sends === 'together') return write(Buffer.concat([header(), first]));
  if (sends !== 'bytes') await write(header());
  else for (const byte of header()) await write(Buffer.from([byte]));
  await write(first);
}
