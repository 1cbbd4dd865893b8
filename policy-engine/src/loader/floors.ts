import { join } from 'node:path';
import { type KnownFloor, raiseFloor } from '../bundle/succession.ts';
import { decodeFloors, maxFloorsBytes } from './decode-floors.ts';
import { readRegularFile } from './read-file.ts';

/** The floor of each domain that was ever accepted, by the updater (`state.json`) or by this engine. */
export class Floors {
  readonly #path: string;
  readonly #accepted = new Map<string, KnownFloor>();
  /** Makes the digest of the newest bundle, where this engine has it and nobody asked for the digest yet. */
  readonly #digests = new Map<string, () => Promise<string>>();
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

  /** The floor with its digest, for a comparison. */
  async withDigest(domain: string): Promise<KnownFloor | undefined> {
    const floor = this.#accepted.get(domain);
    const digest = await this.#digests.get(domain)?.();
    if (floor === undefined || digest === undefined) return floor;
    const known = { ...floor, digest };
    this.#accepted.set(domain, known);
    this.#digests.delete(domain);
    return known;
  }

  /** `digest` makes the digest of a bundle that comes without one. */
  accept(domain: string, floor: KnownFloor, digest?: () => Promise<string>): void {
    const known = this.#accepted.get(domain);
    const { epoch, version, issued } = floor;
    // INVARIANT: what was loaded is compared by its own policies, whatever a file says of them.
    const isLoaded = this.#digests.has(domain) && known?.epoch === epoch && known.version === version;
    const raised = raiseFloor(known, isLoaded ? { epoch, version, ...(issued !== undefined && { issued }) } : floor);
    this.#accepted.set(domain, raised);
    if (isLoaded) return;
    if (digest !== undefined) this.#digests.set(domain, digest);
    else if (raised !== known) this.#digests.delete(domain);
  }
}
