import type { BundleVersion } from '../bundle/index.ts';
import { parseStrictJson } from '../json/strict-json.ts';

/** The largest file of floors that is looked at, in bytes. */
export const maxFloorsBytes = 16_777_216;

/** The `floors` of a file: the newest version of each domain that was ever accepted. `undefined` when they cannot be understood. */
export function decodeFloors(bytes: Uint8Array): ReadonlyMap<string, BundleVersion> | undefined {
  let file: unknown;
  try {
    file = parseStrictJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return undefined;
  }
  const floors = isRecord(file) ? file['floors'] : undefined;
  if (!isRecord(floors)) return undefined;
  const decoded = new Map<string, BundleVersion>();
  for (const [domain, floor] of Object.entries(floors)) {
    const { epoch, version } = isRecord(floor) ? floor : {};
    if (!isCount(epoch) || !isCount(version)) return undefined;
    decoded.set(domain, { epoch, version });
  }
  return decoded;
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
