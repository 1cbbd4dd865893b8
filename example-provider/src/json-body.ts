import type { IncomingMessage } from 'node:http';
import type { CatalogueDocument } from './catalogue.ts';
import { HttpError } from './http-error.ts';

const maxBytes = 65_536;

/** Reads a JSON object; no body at all is an empty one. Throws `HttpError` 413 or 400. */
export async function readJsonObject(request: IncomingMessage): Promise<CatalogueDocument> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    if (!(chunk instanceof Buffer)) continue;
    size += chunk.length;
    if (size > maxBytes) throw new HttpError(413, `the body is larger than ${maxBytes} bytes`, { Connection: 'close' });
    chunks.push(chunk);
  }
  return size === 0 ? {} : parseObject(Buffer.concat(chunks));
}

function parseObject(bytes: Buffer): CatalogueDocument {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new HttpError(400, 'the body is not JSON');
  }
  if (!isObject(value)) throw new HttpError(400, 'the body must be a JSON object');
  return value;
}

function isObject(value: unknown): value is CatalogueDocument {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
