import type { Effect } from '../wire/index.ts';
import {
  type AssertionInput,
  type CompiledAssertion,
  type PrepareContext,
  prepareAssertion,
  readyAssertion,
} from './assertion.ts';
import { compileConditions } from './conditions.ts';
import { isPlainName, type Pattern } from './pattern.ts';

/** What the assertions of one policy with one effect share. */
interface Origin {
  readonly policy: string;
  readonly effect: Effect;
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

  /** How many have a resource without a wildcard: the plain ones, then the others. What follows counts in that order. */
  get namedCount(): number {
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

  /** The named assertion at that place; the same object each time. `resource` may be given where it was made before. */
  at(index: number, resource?: Pattern): CompiledAssertion {
    const known = this.#ready[index] ?? this.#namedOthers[index - this.#ready.length];
    if (typeof known === 'object') return known;
    const made = this.#make(index, known, resource);
    this.#ready[index] = made;
    return made;
  }

  /** The text that ends with the name of the resource, folded; from `nameStartAt` on it is the name. */
  textAt(index: number): string {
    return this.#names[index] ?? this.at(index).resource.text;
  }

  nameStartAt(index: number): number {
    return index < this.#names.length ? this.#context.prefix.length : 0;
  }

  /** All of them. */
  all(): readonly CompiledAssertion[] {
    const all: CompiledAssertion[] = [];
    let taken = 0;
    for (let index = 0; index < this.#ready.length; index += 1) {
      const plain = this.at(index);
      const others = this.others.slice(taken, plain.rank - index);
      for (const other of others) all.push(other);
      taken += others.length;
      all.push(plain);
    }
    return all.concat(this.others.slice(taken));
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
