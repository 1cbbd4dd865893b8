import { type IpAddress, type IpNetwork, isInNetwork, parseAddress, parseNetwork } from './ip-address.ts';

/** Operators of conditions; each has its entry in `operatorRules` below. */
export const conditionOperators = ['EQUALS', 'NOT_EQUALS', 'STARTS_WITH', 'IN_CIDR'] as const;
/** The operator of a condition. */
export type ConditionOperator = (typeof conditionOperators)[number];

/** Definition of one operator: how its values are checked, how it is evaluated, and how people read it. */
export interface OperatorRule {
  /** Words between key and value in a sentence. */
  readonly words: {
    readonly holds: string;
    readonly fails: string;
    /** Description of unreadable values, for operators that cannot read every value. */
    readonly unreadable?: string;
  };
  /** Description of a malformed value; undefined if it is valid. */
  problem(value: string): string | undefined;
  /** Makes a test of values without a problem, folded. */
  compile(values: readonly string[]): ValueTest;
}

/** The condition of one key, made ready. */
export interface ValueTest {
  /** Result for a value; undefined where it is not of the operator's kind: it is then treated as missing. */
  holds(value: ContextValue): boolean | undefined;
  /** Cost of one evaluation, in units of `Work`. */
  readonly cost: number;
  readonly landmarks: Landmarks;
}

/** Distinctions that a test can make: single values, all values with a prefix, all addresses of a network. */
export interface Landmarks {
  readonly values: readonly string[];
  readonly prefixes: readonly string[];
  readonly networks: readonly IpNetwork[];
}

/** Empty landmarks: no distinctions. */
const noLandmarks: Landmarks = { values: [], prefixes: [], networks: [] };

/** A value of a context, folded; read as an address once, when the first condition asks. */
export class ContextValue {
  readonly text: string;
  #address: IpAddress | undefined | null = null;

  constructor(text: string) {
    this.text = text;
  }

  get address(): IpAddress | undefined {
    if (this.#address === null) this.#address = parseAddress(this.text);
    return this.#address;
  }
}

/** The one place that knows what operators do. */
export const operatorRules: Readonly<Record<ConditionOperator, OperatorRule>> = {
  EQUALS: {
    words: { holds: 'is', fails: 'is not' },
    problem: () => undefined,
    compile(values) {
      const isAny = values.includes('*');
      return equality(values, ({ text }) => isAny || values.includes(text));
    },
  },
  NOT_EQUALS: {
    words: { holds: 'is not', fails: 'is' },
    problem: (value) => (value === '*' ? 'must not be `*`: the condition would never hold' : undefined),
    compile: (values) => equality(values, ({ text }) => !values.includes(text)),
  },
  STARTS_WITH: {
    words: { holds: 'starts with', fails: 'does not start with' },
    problem(value) {
      if (value === '') return 'must not be empty: every value starts with it';
      return value.includes('*') ? 'must not contain `*`: any suffix already matches' : undefined;
    },
    compile: (values) => ({
      holds: ({ text }) => values.some((value) => text.startsWith(value)),
      cost: values.reduce((sum, { length }) => sum + 1 + (length >> 3), 0),
      landmarks: { ...noLandmarks, prefixes: values },
    }),
  },
  IN_CIDR: {
    words: { holds: 'is in', fails: 'is not in', unreadable: 'is not an IP address' },
    problem(value) {
      const network = parseNetwork(value);
      return typeof network === 'string' ? network : undefined;
    },
    compile(values) {
      const networks = values.map(parseNetwork).filter((network) => typeof network !== 'string');
      return {
        holds: ({ address }) => address && networks.some((network) => isInNetwork(network, address)),
        cost: costOfAddress + costOfNetwork * networks.length,
        landmarks: { ...noLandmarks, networks },
      };
    },
  },
};

/** A text is read as an address; an address is compared with a network. */
const costOfAddress = 16;
const costOfNetwork = 8;

function equality(values: readonly string[], holds: ValueTest['holds']): ValueTest {
  const single = values.filter((value) => value !== '*');
  return { holds, cost: values.length, landmarks: { ...noLandmarks, values: single } };
}
