import { join } from 'node:path';
import { type BundleVersion, isOlder } from '../bundle/index.ts';
import { parseStrictJson } from '../json/strict-json.ts';
import { readRegularFile } from './read-file.ts';

const maxStateBytes = 16_777_216;

/** The newest version of each domain that was ever accepted, by the updater (`state.json`) or by this engine. */
export class Floors {
  readonly #path: string;
  readonly #accepted = new Map<string, BundleVersion>();
  #identity: string | undefined;

  constructor(policyDir: string) {
    this.#path = join(policyDir, 'state.json');
  }

  /** Reads the file when it has changed. A missing or bad file leaves the floors as they are: they never fall. */
  async refresh(): Promise<void> {
    const file = await readRegularFile(this.#path, maxStateBytes, this.#identity);
    if (file.kind !== 'read') return;
    this.#identity = file.identity;
    for (const [domain, version] of decodeState(file.bytes)) this.accept(domain, version);
  }

  of(domain: string): BundleVersion | undefined {
    return this.#accepted.get(domain);
  }

  accept(domain: string, version: BundleVersion): void {
    const known = this.#accepted.get(domain);
    if (known === undefined || isOlder(known, version)) {
      this.#accepted.set(domain, { epoch: version.epoch, version: version.version });
    }
  }
}

function decodeState(bytes: Uint8Array): [string, BundleVersion][] {
  try {
    const state = parseStrictJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    const floors = isRecord(state) ? state['floors'] : undefined;
    return isRecord(floors) ? Object.entries(floors).flatMap(([domain, value]) => decodeFloor(domain, value)) : [];
  } catch {
    return [];
  }
}

function decodeFloor(domain: string, value: unknown): [string, BundleVersion][] {
  if (!isRecord(value)) return [];
  const { epoch, version } = value;
  return Number.isSafeInteger(epoch) && Number.isSafeInteger(version)
    ? [[domain, { epoch: Number(epoch), version: Number(version) }]]
    : [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
