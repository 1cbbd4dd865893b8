import { join } from 'node:path';
import { type BundleVersion, isOlder } from '../bundle/index.ts';
import { decodeFloors, maxFloorsBytes } from './decode-floors.ts';
import { readRegularFile } from './read-file.ts';

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
    const file = await readRegularFile(this.#path, maxFloorsBytes, this.#identity);
    if (file.kind !== 'read') return;
    this.#identity = file.identity;
    for (const [domain, version] of decodeFloors(file.bytes) ?? []) this.accept(domain, version);
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
