import type { KnownFloor } from '../bundle/succession.ts';
import { formatTimestamp, parseTimestamp } from '../clock.ts';
import { parseStrictJson } from '../json/strict-json.ts';

/** The largest file of floors that is looked at, in bytes. */
export const maxFloorsBytes = 16_777_216;

/**
 * The `floors` of a file: what is remembered of the newest bundle of each domain that was ever accepted; in files of earlier
 * programs only epoch and version. `undefined` when they cannot be understood.
 */
export function decodeFloors(bytes: Uint8Array): ReadonlyMap<string, KnownFloor> | undefined {
  let file: unknown;
  try {
    file = parseStrictJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
  const floors = isRecord(file) ? file['floors'] : undefined;
  if (!isRecord(floors)) return undefined;
  const decoded = new Map<string, KnownFloor>();
  for (const [domain, floor] of Object.entries(floors)) {
    const one = isRecord(floor) ? decodeFloor(floor) : undefined;
    if (one === undefined) return undefined;
    decoded.set(domain, one);
  }
  return decoded;
}

/** Floors as they stand in a file. */
export function encodeFloors(floors: Iterable<readonly [domain: string, floor: KnownFloor]>): Record<string, unknown> {
  return Object.fromEntries(
    [...floors].map(([domain, { epoch, version, issued, digest, content }]) => [
      domain,
      { epoch, version, ...(issued !== undefined && { issued: formatTimestamp(issued) }), digest, content },
    ]),
  );
}

function decodeFloor(floor: Record<string, unknown>): KnownFloor | undefined {
  const { epoch, version, issued, digest, content } = floor;
  if (!isCount(epoch) || !isCount(version) || !isOptionalText(digest) || !isOptionalText(content)) return undefined;
  const time = typeof issued === 'string' ? parseTimestamp(issued) : undefined;
  if (issued !== undefined && time === undefined) return undefined;
  return {
    epoch,
    version,
    ...(time !== undefined && { issued: time }),
    ...(digest !== undefined && { digest, ...(content !== undefined && { content }) }),
  };
}

function isOptionalText(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
