import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/** How much of a refused body is read, and for how long, before the connection is closed under whoever sends it. */
const mostBytes = 4 << 20;
const mostMs = 1000;

/**
 * An answer that is sent at once and ends when the request does, or when that takes too long. A connection that is closed while its
 * client still sends takes the answer with it: the client then learns that something failed, and not what.
 */
export function lingeringAnswer(text: string, req: IncomingMessage): Readable {
  return Readable.from(linger(text, req), { objectMode: false });
}

async function* linger(text: string, req: IncomingMessage): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
  await drain(req);
}

function drain(req: IncomingMessage): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, mostMs);
  let bytes = 0;
  req.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > mostBytes) resolve();
  });
  req.once('end', resolve);
  req.once('close', resolve);
  req.resume();
  return promise.finally(() => clearTimeout(timer));
}
