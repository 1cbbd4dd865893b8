import { join } from 'node:path';
import { type BundleFloor, raiseFloor } from '../bundle/index.ts';
import { decodeFloors, maxFloorsBytes } from './decode-floors.ts';
import { readRegularFile } from './read-file.ts';

/** The floor of each domain that was ever accepted, by the updater (`state.json`) or by this engine. */
export class Floors {
  readonly #path: string;
  readonly #accepted = new Map<string, BundleFloor>();
  #identity: string | undefined;

  constructor(policyDir: string) {
    this.#path = join(policyDir, 'state.json');
  }

  /** Reads the file when it has changed. A missing or bad file leaves the floors as they are: they never fall. */
  async refresh(): Promise<void> {
    const file = await readRegularFile(this.#path, maxFloorsBytes, this.#identity);
    if (file.kind !== 'read') return;
    this.#identity = file.identity;
    for (const [domain, floor] of decodeFloors(file.bytes) ?? []) this.accept(domain, floor);
  }

  of(domain: string): BundleFloor | undefined {
    return this.#accepted.get(domain);
  }

  accept(domain: string, floor: BundleFloor): void {
    this.#accepted.set(domain, raiseFloor(this.#accepted.get(domain), floor));
  }
}
