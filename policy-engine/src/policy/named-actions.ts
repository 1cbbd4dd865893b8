import { unitBit } from './literal-hash.ts';
import { placeOfName } from './name-hash.ts';
import type { Pattern } from './pattern.ts';

/** The bits of all names. */
const anyName = -1;
/** More lengths of prefixes take as long to look at as what they spare. */
const manyLengths = 16;

/** Of the actions that a policy names, what tells most others apart from them: a request for one of those needs no look at its resource. */
export class NamedActions {
  /** One bit for each place of a name. */
  #names = 0;
  /** The lengths of prefixes, each once, and the last units of those that have it, as bits. */
  readonly #lengths: number[] = [];
  readonly #ends: number[] = [];

  /** A pattern that is folded. */
  add({ kind, text }: Pattern): void {
    if (kind === 'exact') this.#names |= 1 << placeOfName(text.length, text.charCodeAt(text.length - 1));
    else if (kind === 'prefix') this.#addPrefix(text);
    else this.#names = anyName;
  }

  /** Whether some are prefixes. */
  get hasPrefixes(): boolean {
    return this.#lengths.length > 0;
  }

  /** False only where no assertion is for the action, whether it is folded or not. */
  mayHave(action: string): boolean {
    const place = placeOfName(action.length, action.charCodeAt(action.length - 1));
    return ((this.#names >>> place) & 1) !== 0 || this.#mayHavePrefix(action);
  }

  #mayHavePrefix(action: string): boolean {
    const lengths = this.#lengths;
    for (let i = lengths.length - 1; i >= 0; i -= 1) {
      const length = lengths[i] ?? 0;
      if (length <= action.length && ((this.#ends[i] ?? 0) & unitBit(action, length - 1)) !== 0) return true;
    }
    return false;
  }

  #addPrefix(prefix: string): void {
    if (this.#names === anyName) return;
    const lengths = this.#lengths;
    let at = 0;
    while (at < lengths.length && lengths[at] !== prefix.length) at += 1;
    lengths[at] = prefix.length;
    this.#ends[at] = (this.#ends[at] ?? 0) | unitBit(prefix, prefix.length - 1);
    if (lengths.length > manyLengths) this.#names = anyName;
  }
}
