import type { BundleFloor } from '../bundle/index.ts';
import { formatTimestamp, parseTimestamp } from '../clock.ts';
import { parseStrictJson } from '../json/strict-json.ts';

/** The largest file of floors that is looked at, in bytes. */
export const maxFloorsBytes = 16_777_216;

/**
 * The `floors` of a file: what is remembered of the newest bundle of each domain that was ever accepted; in files of earlier
 * programs only epoch and version. `undefined` when they cannot be understood.
 */
export function decodeFloors(bytes: Uint8Array): ReadonlyMap<string, BundleFloor> | undefined {
  let file: unknown;
  try {
    file = parseStrictJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
  const floors = isRecord(file) ? file['floors'] : undefined;
  if (!isRecord(floors)) return undefined;
  const decoded = new Map<string, BundleFloor>();
  for (const [domain, floor] of Object.entries(floors)) {
    const one = isRecord(floor) ? decodeFloor(floor) : undefined;
    if (one === undefined) return undefined;
    decoded.set(domain, one);
  }
  return decoded;
}

/** Floors as they stand in a file. */
export function encodeFloors(floors: Iterable<readonly [domain: string, floor: BundleFloor]>): Record<string, unknown> {
  return Object.fromEntries(
    [...floors].map(([domain, { epoch, version, issued, digest }]) => [
      domain,
      { epoch, version, ...(issued !== undefined && { issued: formatTimestamp(issued) }), digest },
    ]),
  );
}

function decodeFloor({ epoch, version, issued, digest }: Record<string, unknown>): BundleFloor | undefined {
  if (!isCount(epoch) || !isCount(version)) return undefined;
  const time = typeof issued === 'string' ? parseTimestamp(issued) : undefined;
  if ((issued !== undefined && time === undefined) || (digest !== undefined && typeof digest !== 'string'))
    return undefined;
  return { epoch, version, ...(time !== undefined && { issued: time }), ...(digest !== undefined && { digest }) };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
