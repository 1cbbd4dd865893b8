import { PackedAssertion, type PackedAssertions } from '../packed/packed-assertions.ts';
import { type CompiledAssertion, type PrepareContext, readyAssertion } from './assertion.ts';
import { compileConditions } from './conditions.ts';
import type { Pattern } from './pattern.ts';

/** Some that stand one behind the other, all of one policy. */
interface RowRange {
  readonly from: number;
  to: number;
  readonly policy: string;
  /** The place of the first of them among all assertions. */
  readonly rank: number;
}

/** Of the packed assertions of a bundle those that are plain and in force: what a table has in columns, for what stays in bytes. */
export class PackedRows {
  readonly all: PackedAssertions;
  readonly #context: PrepareContext;
  readonly #ranges: RowRange[] = [];
  readonly #ready = new Map<number, CompiledAssertion>();
  #count = 0;

  constructor(all: PackedAssertions, context: PrepareContext) {
    this.all = all;
    this.#context = context;
    context.namedActions.addPlaces(all.actionPlaces);
  }

  /** How many are in here. */
  get count(): number {
    return this.#count;
  }

  /** Where they are, in the order of the rows. */
  get ranges(): readonly Pick<RowRange, 'from' | 'to'>[] {
    return this.#ranges;
  }

  /** Adds those from `from` to `to`, which are all plain. */
  addAll(from: number, to: number, policy: string, rank: number): void {
    const latest = this.#ranges.at(-1);
    const goesOn = latest?.to === from && latest.policy === policy && rank - latest.rank === from - latest.from;
    if (goesOn) latest.to = to;
    else if (to > from) this.#ranges.push({ from, to, policy, rank });
    this.#count += to - from;
  }

  /**
   * Adds those from `from` to `to` up to the first that needs a closer look, which it answers. Each action is found good here.
   * Throws `PolicyEngineError('bundle-malformed')` as `prepareAssertion` does.
   */
  add(from: number, to: number, policy: string, rank: number): number {
    let row = from;
    for (; row < to && !this.all.needsLook(row); row += 1) {
      if (this.all.hasOtherAction(row)) this.#context.action(this.all.actionOf(row), policy);
    }
    this.addAll(from, row, policy, rank);
    return row;
  }

  at(row: number, known?: Pattern): CompiledAssertion {
    const ready = this.#ready.get(row);
    if (ready !== undefined) return ready;
    const made = this.#make(row, known);
    this.#ready.set(row, made);
    return made;
  }

  /** Whether a text, which is folded, is the resource in full. */
  isNamed(row: number, text: string): boolean {
    return this.all.isNamed(row, text, this.all.prefix.length);
  }

  #make(row: number, known: Pattern | undefined): CompiledAssertion {
    const { all } = this;
    const { from, policy, rank } = this.#rangeOf(row);
    return readyAssertion({
      role: this.#context.role(all.roleOf(row), policy),
      action: this.#context.action(all.actionOf(row), policy),
      resource: known ?? { kind: 'exact', text: all.nameOf(row) },
      conditions: compileConditions(undefined),
      effect: all.effectOf(row),
      policy,
      source: new PackedAssertion(all, row),
      rank: rank + row - from,
    });
  }

  #rangeOf(row: number): RowRange {
    let [first, end] = [0, this.#ranges.length];
    while (end - first > 1) {
      const middle = (first + end) >>> 1;
      if ((this.#ranges[middle]?.from ?? 0) <= row) first = middle;
      else end = middle;
    }
    const range = this.#ranges[first];
    if (range === undefined || row < range.from || row >= range.to) throw new RangeError('no such assertion');
    return range;
  }
}
