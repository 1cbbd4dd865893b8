import {
  type CompiledConditions,
  type Condition,
  type ConditionKey,
  type ConditionOperator,
  ContextValue,
  conditionKeys,
  conditionsCount,
  type DecisionContext,
  foldContext,
  operatorRules,
  valueSamples,
} from '@signet/policy-engine/policy';
import type { Assertion } from './assertion-difference.ts';
import { PatternsTooComplexError } from './atoms.ts';
import { Work } from './work.ts';

/** Value of a condition for a set of values, e.g. a network. */
interface Term {
  readonly operator: ConditionOperator;
  readonly value: string;
}

/** Values that no condition names one by one: those for which all of `matching` hold, and nothing of the others. */
export interface OtherValues {
  readonly isNot: readonly string[];
  readonly matching?: readonly Term[];
  /** Terms that do not hold, as far as they could beside those that do. */
  readonly except?: readonly Term[];
  /** Operators that cannot read these values, e.g. as they are no addresses. */
  readonly unreadableBy?: readonly ConditionOperator[];
}

/** Values of one condition key: one of them, others, or `null` where the host gives none. */
export type ValueSet = { readonly is: string } | OtherValues | null;

/** Hosts by their values, as far as conditions distinguish them. */
export type ContextSet = Readonly<Partial<Record<ConditionKey, ValueSet>>>;

/** Hosts for which the same assertions count. */
export interface ContextClass {
  readonly set: ContextSet;
  readonly example: DecisionContext;
}

/** An assertion that may count on some hosts only. */
export interface ConditionalAssertion extends Assertion {
  readonly conditions: CompiledConditions;
}

const maxClasses = 256;

/** Cuts the contexts of all hosts into classes; a single one when no assertion has conditions. Throws `PatternsTooComplexError`. */
export function contextClasses(
  assertions: readonly ConditionalAssertion[],
  work: Work = new Work(),
): readonly ContextClass[] {
  const byKey = Map.groupBy(
    assertions.flatMap(({ conditions }) => (conditions.kind === 'known' ? conditions.sets.flat() : [])),
    ({ key }) => key,
  );
  let classes: ContextClass[] = [{ set: {}, example: {} }];
  for (const [key, conditions] of [...byKey].sort()) {
    const parts = partsOf(conditions, work);
    if (classes.length * parts.length > maxClasses) throw new PatternsTooComplexError('too many conditions');
    classes = classes.flatMap(({ set, example }) =>
      parts.map((part) => ({
        set: { ...set, [key]: part.set },
        example: part.example === undefined ? example : { ...example, [key]: part.example },
      })),
    );
  }
  return classes;
}

interface ValuePart {
  readonly set: ValueSet;
  readonly example?: string;
}

/** The values of one key: missing, each that is named, and the others by the terms that hold for them. */
function partsOf(conditions: readonly Condition[], work: Work): readonly ValuePart[] {
  const landmarks = landmarksOf(conditions);
  const { values, prefixes, networks } = landmarks;
  // Each of them makes a class of its own.
  if (values.length + prefixes.length + networks.length > maxClasses) {
    throw new PatternsTooComplexError('too many conditions');
  }
  work.spend(stepsASample * (prefixes.length + 1) * (networks.length + 1) * (prefixes.length + networks.length + 1));
  const samples = valueSamples(landmarks);
  if (samples === undefined) throw new PatternsTooComplexError('prefixes of addresses meet networks');
  const terms = termsOf(conditions);
  work.spend(stepsATerm * samples.length * terms.length);
  const named = values.map((text) => ({ text, answers: answersOf(terms, text) }));
  const others = new Map<string, OtherPart>();
  for (const example of samples.filter((sample) => !values.includes(sample)).toSorted(byLength)) {
    const answers = answersOf(terms, example);
    const isNot = named.filter((one) => one.answers.join() === answers.join()).map(({ text }) => text);
    if (!others.has(answers.join())) others.set(answers.join(), { example, answers, isNot });
  }
  const all = [...named, ...others.values()].map(({ answers }) => answers);
  return [
    { set: null },
    ...values.map((text) => ({ set: { is: text }, example: text })),
    ...[...others.values()].map((part) => ({ set: describe(terms, part, all), example: part.example })),
  ];
}

/** A text is compared with a text, or an address with a network. */
const stepsATerm = 20;
/** A range of addresses is taken from another. */
const stepsASample = 50;

function byLength(one: string, other: string): number {
  return one.length - other.length;
}

function landmarksOf(conditions: readonly Condition[]): Parameters<typeof valueSamples>[0] {
  const all = conditions.map(({ test }) => test.landmarks);
  const networks = all.flatMap((one) => one.networks);
  return {
    values: [...new Set(all.flatMap(({ values }) => values))].sort(),
    prefixes: [...new Set(all.flatMap(({ prefixes }) => prefixes))].sort(),
    networks: [...new Map(networks.map((network) => [JSON.stringify(network), network])).values()],
  };
}

/** Result of a term for a value: whether it holds, or undefined if it cannot read the value. */
type Answer = boolean | undefined;

interface ReadyTerm extends Term {
  readonly test: Condition['test'];
}

interface OtherPart {
  readonly example: string;
  readonly answers: readonly Answer[];
  readonly isNot: readonly string[];
}

/** The terms of the conditions that are not about single values, once each. */
function termsOf(conditions: readonly Condition[]): readonly ReadyTerm[] {
  const terms = new Map<string, ReadyTerm>();
  for (const { operator, values, test } of conditions) {
    if (test.landmarks.prefixes.length + test.landmarks.networks.length === 0) continue;
    for (const value of values) {
      terms.set(`${operator} ${value}`, { operator, value, test: operatorRules[operator].compile([value]) });
    }
  }
  return [...terms].sort().map(([, term]) => term);
}

function answersOf(terms: readonly ReadyTerm[], text: string): readonly Answer[] {
  // Folded: names and values of contexts are compared folded, and so are the samples.
  const value = new ContextValue(text);
  return terms.map(({ test }) => test.holds(value));
}

/** The narrowest terms that hold, and of the others those for which another part, for which these hold as well, answers otherwise. */
function describe(
  terms: readonly ReadyTerm[],
  { answers, isNot }: OtherPart,
  all: readonly (readonly Answer[])[],
): OtherValues {
  const holding = [...terms.keys()].filter((at) => answers[at] === true);
  const near = all.filter((other) => holding.every((at) => other[at] === true));
  const isTold = (at: number) => near.some((other) => other[at] !== answers[at]);
  const narrower = (at: number, than: number) =>
    all.every((other) => other[at] !== true || other[than] === true) &&
    (at < than || all.some((other) => other[than] === true && other[at] !== true));
  const shown = (places: readonly number[]): Term[] =>
    places.flatMap((at) => terms.slice(at, at + 1).map(({ operator, value }) => ({ operator, value })));
  const matching = shown(holding.filter((at) => !holding.some((one) => one !== at && narrower(one, at))));
  const except = shown([...terms.keys()].filter((at) => answers[at] === false && isTold(at)));
  const unreadable = shown([...terms.keys()].filter((at) => answers[at] === undefined && isTold(at)));
  return {
    isNot,
    ...(matching.length > 0 && { matching }),
    ...(except.length > 0 && { except }),
    ...(unreadable.length > 0 && { unreadableBy: [...new Set(unreadable.map(({ operator }) => operator))] }),
  };
}

/** Sets that together say the same as these classes, of all that there are: without the keys of which it does not depend. */
export function shortSets(classes: readonly ContextClass[], all: readonly ContextClass[]): readonly ContextSet[] {
  const numbers = new Map<ValueSet | undefined, number>();
  const numberOf = (values: ValueSet | undefined) => {
    const number = numbers.get(values) ?? numbers.size;
    numbers.set(values, number);
    return number;
  };
  let sets = classes.map(({ set }) => set);
  // Parts of a key are the same objects in all classes.
  for (const key of conditionKeys) {
    const parts = new Set(all.map(({ set }) => numberOf(set[key]))).size;
    const groups = Map.groupBy(sets, (set) =>
      conditionKeys.map((other) => (other === key ? '' : numberOf(set[other]))).join(),
    );
    if (parts < 2 || [...groups.values()].some(({ length }) => length < parts)) continue;
    sets = [...groups.values()].flatMap((group) => group.slice(0, 1).map(({ [key]: _, ...rest }) => rest));
  }
  return sets;
}

/** The assertions that count on a host that says this of itself, as the engine takes them. */
export function assertionsInContext(
  assertions: readonly ConditionalAssertion[],
  context: DecisionContext,
): readonly Assertion[] {
  const folded = foldContext(context);
  return assertions.filter(({ conditions, effect }) => conditionsCount(conditions, effect, folded));
}
