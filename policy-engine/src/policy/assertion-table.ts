import type { Effect } from '../wire/index.ts';
import {
  type AssertionInput,
  type CompiledAssertion,
  type PrepareContext,
  prepareAssertion,
  readyAssertion,
} from './assertion.ts';
import { compileConditions } from './conditions.ts';
import { hashFolded } from './name-hash.ts';
import { isPlainName, type Pattern } from './pattern.ts';

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

  constructor(context: PrepareContext) {
    this.#context = context;
    this.#rolePrefix = `${context.domain}:role.`;
  }

  get length(): number {
    return this.#ready.length + this.others.length;
  }

  /** All places of `namedRanges`, and some at which there is none. */
  get namedPlaces(): number {
    return this.#ready.length + this.#namedOthers.length;
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

  /** Runs of places at which there are assertions with a resource without a wildcard: packed ones, plain ones, then others. */
  get namedRanges(): readonly PlaceRange[] {
    return this.#ranges(this.#ready.length + this.#namedOthers.length);
  }

  /** The named assertion at that place; the same object each time. `resource` may be given where it was made before. */
  at(place: number, resource?: Pattern): CompiledAssertion {
    const index = place;
    const known = this.#ready[index] ?? this.#namedOthers[index - this.#ready.length];
    if (typeof known === 'object') return known;
    const made = this.#make(index, known, resource);
    this.#ready[index] = made;
    return made;
  }

  /** The name of the resource at that place, folded. */
  nameAt(place: number): string {
    const index = place;
    return this.#names[index]?.slice(this.#context.prefix.length) ?? this.at(place).resource.text;
  }

  /** The resource at that place in full: folded, with the domain in front. */
  textAt(place: number): string {
    const index = place;
    return this.#names[index] ?? this.#context.prefix + this.at(place).resource.text;
  }

  /** The hashes of the names from place `from` to place `to`, all of one range. */
  hashesOf(from: number, to: number): Int32Array {
    return Int32Array.from({ length: to - from }, (_, index) => this.#hashAt(from + index));
  }

  #hashAt(place: number): number {
    const whole = this.#names[place];
    if (whole !== undefined) return hashFolded(whole, this.#context.prefix.length);
    return hashFolded(this.at(place).resource.text, 0);
  }

  /** Whether a text, which is folded and has the domain in front, is the resource at that place. */
  isNamed(place: number, text: string): boolean {
    const index = place;
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

  #ranges(to: number): readonly PlaceRange[] {
    return [{ from: 0, to }];
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
