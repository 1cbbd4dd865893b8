import type { KeySource } from '../keys/index.ts';
import { blindLife } from '../keys/key-source.ts';

/** Answers of a source about the keys of bundles, by domain. */
interface KeyAnswers {
  readonly withdrawn: readonly string[];
  /** The source failed: it withdraws nothing. */
  readonly failed: readonly string[];
}

/** Revision check: fetches the keys of the bundles in force again when they may have been withdrawn. */
export class KeyRevision {
  readonly #keys: KeySource;
  #revision: number | undefined;
  /** Milliseconds since the epoch; undefined where the source has not answered for all bundles. */
  #asked: number | undefined;

  constructor(keys: KeySource) {
    this.#keys = keys;
  }

  /** `undefined` where the keys are those of before. `now` in milliseconds since the epoch. Never throws. */
  async ask(bundles: ReadonlyMap<string, { readonly kid: string }>, now: number): Promise<KeyAnswers | undefined> {
    const { revision } = this.#keys;
    if (!this.#mayDiffer(revision, now)) return undefined;
    const withdrawn: string[] = [];
    const failed: string[] = [];
    for (const [domain, { kid }] of bundles) {
      try {
        if ((await this.#keys.find(kid, 'bundle')) === undefined) withdrawn.push(domain);
      } catch {
        failed.push(domain);
      }
    }
    this.#revision = revision;
    this.#asked = failed.length === 0 ? now : undefined;
    return { withdrawn, failed };
  }

  #mayDiffer(revision: number | undefined, now: number): boolean {
    if (this.#asked === undefined || revision !== this.#revision) return true;
    return revision === undefined && (now - this.#asked >= blindLife || now < this.#asked);
  }
}
