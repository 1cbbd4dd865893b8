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
 * The assertions of a domain that can match, in columns and in the order of the policies. A plain one (names in lower case, no wildcard, no
 * conditions) is checked when it is added and made ready when a search first needs it: of a hundred thousand, few are ever asked for.
 */
export class AssertionTable {
  readonly #context: PrepareContext;
  /** What roles in full begin with. */
  readonly #rolePrefix: string;
  readonly #roles: string[] = [];
  readonly #actions: Pattern[] = [];
  readonly #names: (string | undefined)[] = [];
  readonly #origins: Origin[] = [];
  readonly #inputs: AssertionInput[] = [];
  readonly #ready: (CompiledAssertion | undefined)[] = [];
  #allow: Origin = { policy: '', effect: 'ALLOW' };
  #deny: Origin = { policy: '', effect: 'DENY' };
  /** Those that are not plain. */
  readonly others: CompiledAssertion[] = [];

  constructor(context: PrepareContext) {
    this.#context = context;
    this.#rolePrefix = `${context.domain}:role.`;
  }

  get length(): number {
    return this.#inputs.length;
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
      const { resource, action, role, effect } = assertion;
      this.others.push(assertion);
      this.#ready.push(assertion);
      this.#push(role, action, resource.kind === 'exact' ? this.#context.prefix + resource.text : undefined);
      this.#describe(effect, input);
    }
    return prepared.problem;
  }

  /** The assertion at that place; the same object each time. */
  at(index: number): CompiledAssertion {
    const known = this.#ready[index];
    if (known !== undefined) return known;
    const made = this.#make(index);
    this.#ready[index] = made;
    return made;
  }

  /** The resource of an assertion, folded and with its domain; `undefined` for one with a wildcard. */
  nameAt(index: number): string | undefined {
    return this.#names[index];
  }

  /** All of them. */
  all(): readonly CompiledAssertion[] {
    return this.#inputs.map((_, index) => this.at(index));
  }

  /** False for whatever needs a closer look. Each part is read once and kept: what was checked is what is compared. */
  #addPlain(input: AssertionInput, policy: string): boolean {
    const { role, action, resource, effect = 'ALLOW', conditions } = input;
    if (conditions !== undefined || (effect !== 'ALLOW' && effect !== 'DENY')) return false;
    if (typeof role !== 'string' || typeof resource !== 'string') return false;
    const { prefix } = this.#context;
    const isFullRole = role.startsWith(this.#rolePrefix);
    const isFull = resource.startsWith(prefix);
    if (!isPlainName(role, isFullRole ? this.#rolePrefix.length : 0, isFullRole)) return false;
    if (!isPlainName(resource, isFull ? prefix.length : 0, isFull)) return false;
    this.#push(role, this.#context.action(action, policy), isFull ? resource : prefix + resource);
    this.#describe(effect, input);
    this.#ready.push(undefined);
    return true;
  }

  #push(role: string, action: Pattern, name: string | undefined): void {
    this.#roles.push(role);
    this.#actions.push(action);
    this.#names.push(name);
  }

  #describe(effect: Effect, input: AssertionInput): void {
    this.#origins.push(effect === 'ALLOW' ? this.#allow : this.#deny);
    this.#inputs.push(input);
  }

  #make(rank: number): CompiledAssertion {
    const [role, action, name] = [this.#roles[rank], this.#actions[rank], this.#names[rank]];
    const [origin, source] = [this.#origins[rank], this.#inputs[rank]];
    if (role === undefined || action === undefined || name === undefined) throw new RangeError('no such assertion');
    if (origin === undefined || source === undefined) throw new RangeError('no such assertion');
    const { effect, policy } = origin;
    const resource: Pattern = { kind: 'exact', text: name.slice(this.#context.prefix.length) };
    const conditions = compileConditions(undefined);
    const prepared = this.#context.role(role, policy);
    return readyAssertion({ role: prepared, action, resource, conditions, effect, policy, source, rank });
  }
}
