import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

/** Limits for reading a refused body before the connection is closed: bytes, pause of the sender, and total time. */
const mostBytes = 4 << 20;
const mostPauseMs = 5000;
const mostMs = 15_000;

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
  const whole = setTimeout(resolve, mostMs);
  let pause = setTimeout(resolve, mostPauseMs);
  let bytes = 0;
  const read = (chunk: Buffer) => {
    clearTimeout(pause);
    pause = setTimeout(resolve, mostPauseMs);
    bytes += chunk.length;
    if (bytes > mostBytes) resolve();
  };
  req.on('data', read);
  req.once('end', resolve);
  req.once('close', resolve);
  req.resume();
  return promise.finally(() => {
    req.off('data', read);
    clearTimeout(whole);
    clearTimeout(pause);
  });
}
