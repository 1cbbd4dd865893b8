import { hashFolded } from '../packed/name-hash.ts';
import type { AssertionRun } from '../packed/packed-assertions.ts';
import type { Steps } from '../steps/steps.ts';
import type { Effect, WireAssertion } from '../wire/index.ts';
import {
  type AssertionInput,
  type CompiledAssertion,
  type PrepareContext,
  prepareAssertion,
  readyAssertion,
} from './assertion.ts';
import { compileConditions } from './conditions.ts';
import { PackedRows } from './packed-rows.ts';
import { isPlainName, type Pattern } from './pattern.ts';
import { sliceLength } from './steps.ts';

/** What the assertions of one policy with one effect share. */
interface Origin {
  readonly policy: string;
  readonly effect: Effect;
}

interface PlaceRange {
  readonly from: number;
  readonly to: number;
}

/**
 * The assertions of a domain that can match, in the order of the policies. A plain one (names in lower case, no wildcard, no conditions) is
 * checked when it is added and kept in columns; it is made ready when a search first needs it: of a hundred thousand, few are ever asked for.
 */
export class AssertionTable {
  readonly #context: PrepareContext;
  /** What roles in full begin with. */
  readonly #rolePrefix: string;
  readonly #roles: string[] = [];
  readonly #actions: Pattern[] = [];
  readonly #names: string[] = [];
  readonly #origins: Origin[] = [];
  readonly #inputs: AssertionInput[] = [];
  /** Until one is made ready, its place among all. */
  readonly #ready: (CompiledAssertion | number)[] = [];
  #allow: Origin = { policy: '', effect: 'ALLOW' };
  #deny: Origin = { policy: '', effect: 'DENY' };
  /** Those that are not plain: made ready at once. */
  readonly others: CompiledAssertion[] = [];
  /** Those of them whose resource has no wildcard. */
  readonly #namedOthers: CompiledAssertion[] = [];
  /** Plain ones that stay in the bytes of their bundle, and how many places they have. */
  #packed: PackedRows | undefined;
  #packedPlaces = 0;

  constructor(context: PrepareContext) {
    this.#context = context;
    this.#rolePrefix = `${context.domain}:role.`;
  }

  get length(): number {
    return (this.#packed?.count ?? 0) + this.#ready.length + this.others.length;
  }

  /** All places of `namedRanges`, and some at which there is none. */
  get namedPlaces(): number {
    return this.#packedPlaces + this.#ready.length + this.#namedOthers.length;
  }

  /** Adds one and answers what its author should know. Throws `PolicyEngineError('bundle-malformed')` as `prepareAssertion` does. */
  add(input: AssertionInput, policy: string): string | undefined {
    if (policy !== this.#allow.policy) {
      this.#allow = { policy, effect: 'ALLOW' };
      this.#deny = { policy, effect: 'DENY' };
    }
    if (this.#addPlain(input, policy)) return undefined;
    const prepared = prepareAssertion(input, policy, this.length, this.#context);
    if (prepared.kind === 'ready') {
      const { assertion } = prepared;
      this.others.push(assertion);
      if (assertion.resource.kind === 'exact') this.#namedOthers.push(assertion);
    }
    return prepared.problem;
  }

  /** Adds all of a run, and answers the same of all. */
  *addRun(run: AssertionRun, policy: string): Steps<string[]> {
    const problems: string[] = [];
    const packed = this.#packedOf(run);
    if (run.isPlain && packed !== undefined) {
      packed.addAll(run.from, run.to, policy, this.length);
      return problems;
    }
    for (let { from } = run; from < run.to; from += sliceLength) {
      const to = Math.min(from + sliceLength, run.to);
      let slice: readonly WireAssertion[] | undefined;
      for (let row = from; row < to; row += 1) {
        row = packed?.add(row, to, policy, this.length) ?? row;
        if (row === to) break;
        slice ??= run.all.itemsOf(from, to);
        const problem = this.add(slice[row - from] as WireAssertion, policy);
        if (problem !== undefined) problems.push(problem);
      }
      yield;
    }
    return problems;
  }

  /** Runs of places at which there are assertions with a resource without a wildcard: packed ones, plain ones, then others. */
  get namedRanges(): readonly PlaceRange[] {
    return this.#ranges(this.#ready.length + this.#namedOthers.length);
  }

  /** Whether assertions are made ready of what stays in bytes. */
  get isPacked(): boolean {
    return this.#packed !== undefined;
  }

  /** The named assertion at that place; the same object each time. `resource` may be given where it was made before. */
  at(place: number, resource?: Pattern): CompiledAssertion {
    const index = place - this.#packedPlaces;
    if (index < 0 && this.#packed !== undefined) return this.#packed.at(place, resource);
    const known = this.#ready[index] ?? this.#namedOthers[index - this.#ready.length];
    if (typeof known === 'object') return known;
    const made = this.#make(index, known, resource);
    this.#ready[index] = made;
    return made;
  }

  /** The name of the resource at that place, folded. */
  nameAt(place: number): string {
    const index = place - this.#packedPlaces;
    if (index < 0 && this.#packed !== undefined) return this.#packed.all.nameOf(place);
    return this.#names[index]?.slice(this.#context.prefix.length) ?? this.at(place).resource.text;
  }

  /** The resource at that place in full: folded, with the domain in front. */
  textAt(place: number): string {
    const index = place - this.#packedPlaces;
    if (index < 0 && this.#packed !== undefined) return this.#packed.all.resourceOf(place);
    return this.#names[index] ?? this.#context.prefix + this.at(place).resource.text;
  }

  /** The hashes of the names from place `from` to place `to`, all of one range. */
  hashesOf(from: number, to: number): Int32Array {
    if (from < this.#packedPlaces && this.#packed !== undefined) return this.#packed.all.hashesOf(from, to);
    return Int32Array.from({ length: to - from }, (_, index) => this.#hashAt(from + index));
  }

  #hashAt(place: number): number {
    const whole = this.#names[place - this.#packedPlaces];
    if (whole !== undefined) return hashFolded(whole, this.#context.prefix.length);
    return hashFolded(this.at(place).resource.text, 0);
  }

  /** Whether a text, which is folded and has the domain in front, is the resource at that place. */
  isNamed(place: number, text: string): boolean {
    const index = place - this.#packedPlaces;
    if (index < 0 && this.#packed !== undefined) return this.#packed.isNamed(place, text);
    const whole = this.#names[index];
    if (whole !== undefined) return whole === text;
    const name = this.at(place).resource.text;
    const from = this.#context.prefix.length;
    return name.length === text.length - from && text.endsWith(name);
  }

  /** All of them. */
  all(): readonly CompiledAssertion[] {
    const plain: CompiledAssertion[] = [];
    for (const { from, to } of this.#ranges(this.#ready.length)) {
      for (let place = from; place < to; place += 1) plain.push(this.at(place));
    }
    if (this.#packed !== undefined) plain.sort((a, b) => a.rank - b.rank);
    const all: CompiledAssertion[] = [];
    let taken = 0;
    for (const [index, assertion] of plain.entries()) {
      const others = this.others.slice(taken, assertion.rank - index);
      for (const other of others) all.push(other);
      taken += others.length;
      all.push(assertion);
    }
    return all.concat(this.others.slice(taken));
  }

  #ranges(behindPacked: number): readonly PlaceRange[] {
    const from = this.#packedPlaces;
    return [...(this.#packed?.ranges ?? []), { from, to: from + behindPacked }];
  }

  /** The rows of the bundle, where the run is of them and of this domain. */
  #packedOf({ all }: AssertionRun): PackedRows | undefined {
    if (all.prefix !== this.#context.prefix) return undefined;
    if (this.#packed === undefined) {
      this.#packed = new PackedRows(all, this.#context);
      this.#packedPlaces = all.count;
    }
    return this.#packed.all === all ? this.#packed : undefined;
  }

  /** False for whatever needs a closer look. Each part is read once and kept: what was checked is what is compared. */
  #addPlain(input: AssertionInput, policy: string): boolean {
    const { role, action, resource, effect = 'ALLOW', conditions } = input;
    if (conditions !== undefined || (effect !== 'ALLOW' && effect !== 'DENY')) return false;
    if (typeof role !== 'string' || typeof resource !== 'string') return false;
    // Found sooner than character by character.
    if (resource.includes('*')) return false;
    const { prefix } = this.#context;
    const isFullRole = role.startsWith(this.#rolePrefix);
    const isFull = resource.startsWith(prefix);
    if (!isPlainName(role, isFullRole ? this.#rolePrefix.length : 0, isFullRole)) return false;
    if (!isPlainName(resource, isFull ? prefix.length : 0, isFull)) return false;
    const preparedAction = this.#context.action(action, policy);
    const rank = this.length;
    this.#roles.push(role);
    this.#actions.push(preparedAction);
    this.#names.push(isFull ? resource : prefix + resource);
    this.#origins.push(effect === 'ALLOW' ? this.#allow : this.#deny);
    this.#inputs.push(input);
    this.#ready.push(rank);
    return true;
  }

  #make(index: number, rank: number | undefined, known: Pattern | undefined): CompiledAssertion {
    const [role, action, name] = [this.#roles[index], this.#actions[index], this.#names[index]];
    const [origin, source] = [this.#origins[index], this.#inputs[index]];
    if (role === undefined || action === undefined || name === undefined) throw new RangeError('no such assertion');
    if (origin === undefined || source === undefined || rank === undefined) throw new RangeError('no such assertion');
    const { effect, policy } = origin;
    const resource = known ?? { kind: 'exact', text: name.slice(this.#context.prefix.length) };
    const conditions = compileConditions(undefined);
    const prepared = this.#context.role(role, policy);
    return readyAssertion({ role: prepared, action, resource, conditions, effect, policy, source, rank });
  }
}
