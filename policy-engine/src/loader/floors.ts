import { join } from 'node:path';
import { type KnownFloor, raiseFloor } from '../bundle/succession.ts';
import { decodeFloors, maxFloorsBytes } from './decode-floors.ts';
import { readRegularFile } from './read-file.ts';

/** The floor of each domain that was ever accepted, by the updater (`state.json`) or by this engine. */
export class Floors {
  readonly #path: string;
  readonly #accepted = new Map<string, KnownFloor>();
  /** Makes the digest of the newest bundle, where this engine loaded it and the digest was not made yet. */
  readonly #makeDigest = new Map<string, () => Promise<string>>();
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

  of(domain: string): KnownFloor | undefined {
    return this.#accepted.get(domain);
  }

  async withDigest(domain: string): Promise<KnownFloor | undefined> {
    const floor = this.#accepted.get(domain);
    const digest = await this.#makeDigest.get(domain)?.();
    if (floor === undefined || digest === undefined) return floor;
    const known = { ...floor, digest };
    this.#accepted.set(domain, known);
    this.#makeDigest.delete(domain);
    return known;
  }

  /** `makeDigest` is for a bundle that comes without a digest. */
  accept(domain: string, floor: KnownFloor, makeDigest?: () => Promise<string>): void {
    const known = this.#accepted.get(domain);
    const { epoch, version, issued } = floor;
    // INVARIANT: a loaded bundle is compared by its own policies, whatever a floor file says of them.
    const isLoaded = this.#makeDigest.has(domain) && known?.epoch === epoch && known.version === version;
    const raised = raiseFloor(known, isLoaded ? { epoch, version, ...(issued !== undefined && { issued }) } : floor);
    this.#accepted.set(domain, raised);
    // A renewal has the same policies: what it was made from is kept no longer.
    if (makeDigest !== undefined) this.#makeDigest.set(domain, makeDigest);
    else if (!isLoaded && raised !== known) this.#makeDigest.delete(domain);
  }
}
