import type { ItemRun, RunReader } from '../json/piece-reader.ts';
import { type Form, FormReader, id, marks, none, type Part } from './assertion-form.ts';
import { AssertionRun, action, actionShift, nameShift, PackedAssertions, resource, role } from './packed-assertions.ts';

const comma = 0x2c;
const zero = 0x30;

const valueCount = none + 1;

/** Numbers of at most so many digits are safe. */
const safeDigits = 15;

/** A server writes assertions in a few forms: with and without a prefix, ALLOW and DENY. */
const formsKept = 16;

/**
 * Reads assertions that stand in a list as a Signet server writes them: without blanks, escapes, conditions and members twice, their
 * texts of ASCII. What it takes, a strict reader takes. Nothing is made of them.
 */
export class AssertionReader implements RunReader {
  readonly depth = 5;
  readonly name = 'assertions';
  readonly #bytes: Uint8Array;
  readonly #text: DataView;
  readonly #all: PackedAssertions;
  readonly #formReader: FormReader;
  /** Those that were met, and the latest of them. */
  #forms: Form[] = [];
  #form: Form | undefined;
  /** Where reading ends in any case. */
  #limit = 0;
  /** Of the assertion that is being read: where its values begin, where they end, and what is to be seen in them, each by member. */
  readonly #values = new Int32Array(3 * valueCount);

  /** Of the payload of a bundle for that domain; `spare` is memory that nobody else needs. */
  constructor(bytes: Uint8Array, domain: string, spare?: Uint8Array) {
    // Of one class, whoever made them: code that has met another one is compiled once more.
    this.#bytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#all = new PackedAssertions(this.#bytes, domain, spare);
    this.#text = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const { prefix } = this.#all;
    this.#formReader = new FormReader(this.#bytes, [`${prefix}role.`, '', prefix]);
  }

  /** Whether it has taken none. */
  get isEmpty(): boolean {
    return this.#all.count === 0;
  }

  /** Those that begin within the length, up to the first that is written otherwise. */
  read(at: number, length: number, least: number): ItemRun | undefined {
    this.#limit = at + 2 * length;
    const from = this.#all.count;
    const end = this.#readItems(at, at + length);
    const count = this.#all.count - from;
    if (count >= least) return { count, end, value: new AssertionRun(this.#all, from) };
    this.#all.forget(from);
    return undefined;
  }

  /** Takes assertions that begin before `until`. Answers where the last of them ends. */
  #readItems(begin: number, until: number): number {
    let end = begin;
    for (let next = begin; next < until; next = end + 1) {
      const form = this.#form;
      let at = form === undefined ? -1 : this.#take(form, next);
      if (at < 0) at = this.#takeOther(next);
      if (at < 0) break;
      end = at;
      if (this.#bytes[end] !== comma) break;
    }
    return end;
  }

  /** Takes an assertion of another form than the last one. */
  #takeOther(begin: number): number {
    const forms = this.#forms;
    for (let index = 0; index < forms.length; index += 1) {
      const form = forms[index] as Form;
      const end = form === this.#form ? -1 : this.#take(form, begin);
      if (end >= 0) {
        this.#form = form;
        return end;
      }
    }
    return this.#takeNew(begin);
  }

  /** Takes an assertion of a form that was not met yet. */
  #takeNew(begin: number): number {
    const form = this.#formReader.read(begin);
    const end = form === undefined ? -1 : this.#take(form, begin);
    if (form === undefined || end < 0) return -1;
    if (this.#forms.length === formsKept) this.#forms = [];
    this.#forms.push(form);
    this.#form = form;
    return end;
  }

  /**
   * Takes the assertion that begins there, if it has that form. Answers where it ends; negative for another one. Large enough to be compiled by
   * itself and not once more in its caller.
   */
  #take(form: Form, begin: number): number {
    const bytes = this.#bytes;
    const text = this.#text;
    const values = this.#values;
    const { parts, partCount } = form;
    const limit = Math.min(this.#limit, form.last);
    if (begin > limit) return -1;
    let at = begin;
    for (let index = 0; index < partCount; index += 1) {
      const { member, words, wordCount, rest, restMask, restLength, stop, look } = parts[index] as Part;
      for (let word = 0; word < wordCount; word += 1, at += 4) if (text.getInt32(at) !== words[word]) return -1;
      if ((text.getInt32(at) & restMask) !== rest) return -1;
      at += restLength;
      values[member] = at;
      let seen = 0;
      let mark = marks[bytes[at] as number] as number;
      for (; (mark & stop) === 0 && at < limit; mark = marks[bytes[at] as number] as number) {
        seen |= mark;
        at += 1;
      }
      values[member + valueCount] = at;
      values[member + 2 * valueCount] = seen & look;
    }
    if (form.hasNumber && !this.#isNumber(values[id] as number, values[id + valueCount] as number)) return -1;
    const seenInNames = (values[role + 2 * valueCount] as number) | (values[resource + 2 * valueCount] as number);
    const flags =
      form.flags | (seenInNames << nameShift) | ((values[action + 2 * valueCount] as number) << actionShift);
    this.#all.add(begin, values, valueCount, flags);
    return at;
  }

  /** Whether the digits are written as JSON wants it. */
  #isNumber(from: number, to: number): boolean {
    return to > from && to - from <= (this.#bytes[from] === zero ? 1 : safeDigits);
  }
}
