import { BlockList, isIPv4, isIPv6 } from 'node:net';
import type { ConditionOperator } from '@signet/policy-engine/policy';

/* Meaning of conditions, independent of the engine. */

const operators: Readonly<Record<ConditionOperator, (value: string, wanted: string) => boolean | undefined>> = {
  EQUALS: (value, wanted) => wanted === '*' || wanted === value,
  NOT_EQUALS: (value, wanted) => wanted !== value,
  STARTS_WITH: (value, wanted) => value.slice(0, wanted.length) === wanted,
  IN_CIDR: isIn,
};

/** A negative operator holds when it does for all of its values, the others when they do for one. */
const isForAll: ReadonlySet<string> = new Set(['NOT_EQUALS']);

/** True if a condition holds for a value; undefined when it cannot read it. `wanted` may be several with commas. */
export function conditionHolds(operator: ConditionOperator, wanted: string, value: string): boolean | undefined {
  const answers = wanted.split(',').map((one) => operators[operator](fold(value), fold(one.trim())));
  if (answers.includes(undefined)) return undefined;
  return isForAll.has(operator) ? !answers.includes(false) : answers.includes(true);
}

function fold(text: string): string {
  return [...text].map((one) => (one >= 'A' && one <= 'Z' ? one.toLowerCase() : one)).join('');
}

/** Node takes addresses of a zone, and zeros of IPv4 as octal; conditions take neither. */
function isIn(value: string, network: string): boolean | undefined {
  if (value.includes('%') || !(isIPv4(value) || isIPv6(value))) return undefined;
  const [base = '', length = ''] = network.split('/');
  const mapped = /^(?:0*:)*(?:0*:)?:?ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(value)?.[1];
  const isMapped = mapped !== undefined && isIPv6(value);
  const address = isMapped ? mapped : value;
  if (isIPv4(address) !== isIPv4(base)) return false;
  const list = new BlockList();
  list.addSubnet(base, Number(length), isIPv4(base) ? 'ipv4' : 'ipv6');
  return list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}
