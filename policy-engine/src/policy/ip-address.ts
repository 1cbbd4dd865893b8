/** An IP address as words of 32 bits: one for IPv4, four for IPv6. */
export type IpAddress = readonly number[];

/** Network: all addresses that have these words behind these masks. */
export interface IpNetwork {
  readonly words: IpAddress;
  readonly masks: readonly number[];
}

/** The longest text of an address: eight groups, the last two of them dotted. */
const maxAddressLength = 45;

const dottedOctets = /^(?:0|[1-9]\d{0,2})(?:\.(?:0|[1-9]\d{0,2})){3}$/;
const hexGroups = /^[0-9a-f]{1,4}(?::[0-9a-f]{1,4})*$/i;
const prefixLength = /^(?:0|[1-9]\d{0,2})$/;

/**
 * Reads an address strictly: no leading zeros in IPv4, no zone, no blanks, no port. An IPv4-mapped address (`::ffff:192.0.2.1`) is the IPv4
 * address: sockets that serve both families name IPv4 peers so. `undefined` for what is not an address.
 */
export function parseAddress(text: string): IpAddress | undefined {
  if (text.length > maxAddressLength) return undefined;
  if (!text.includes(':')) return parseDotted(text);
  const words = parseGroups(text);
  const [first, second, third, last] = words ?? [];
  return last !== undefined && first === 0 && second === 0 && third === 0xffff ? [last] : words;
}

function parseDotted(text: string): IpAddress | undefined {
  if (!dottedOctets.test(text)) return undefined;
  let word = 0;
  for (const octet of text.split('.')) {
    if (Number(octet) > 255) return undefined;
    word = word * 256 + Number(octet);
  }
  return [word];
}

/** RFC 4291 §2.2: eight groups, one run of zeros may be `::`, and the last two groups may be dotted. */
function parseGroups(text: string): IpAddress | undefined {
  const hex = withHexTail(text);
  const [head = '', tail, ...more] = hex?.split('::') ?? [];
  if (hex === undefined || more.length > 0) return undefined;
  const [before, after] = [groupsOf(head), tail === undefined ? [] : groupsOf(tail)];
  if (before === undefined || after === undefined) return undefined;
  const missing = 8 - before.length - after.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  const groups = [...before, ...Array.from({ length: missing }, () => 0), ...after];
  return [0, 2, 4, 6].map((at) => (groups[at] ?? 0) * 65_536 + (groups[at + 1] ?? 0));
}

/** The text with a dotted end as two groups. */
function withHexTail(text: string): string | undefined {
  if (!text.includes('.')) return text;
  const end = text.lastIndexOf(':') + 1;
  const [word] = parseDotted(text.slice(end)) ?? [];
  if (word === undefined) return undefined;
  return `${text.slice(0, end)}${(word >>> 16).toString(16)}:${(word & 0xffff).toString(16)}`;
}

function groupsOf(text: string): readonly number[] | undefined {
  if (text === '') return [];
  return hexGroups.test(text) ? text.split(':').map((group) => Number.parseInt(group, 16)) : undefined;
}

/** Reads `10.0.0.0/8` or `2001:db8::/32`, as strictly. A text says what is wrong with it. */
export function parseNetwork(text: string): IpNetwork | string {
  const slash = text.indexOf('/');
  const base = text.slice(0, Math.max(slash, 0));
  const words = parseAddress(base);
  const length = text.slice(slash + 1);
  if (words === undefined || !prefixLength.test(length)) {
    return 'must be a network in CIDR notation, such as 10.0.0.0/8 or 2001:db8::/32';
  }
  if (words.length === 1 && base.includes(':')) return 'must name IPv4 addresses as IPv4, such as 192.0.2.0/24';
  const bits = 32 * words.length;
  if (Number(length) > bits) return `must have a prefix length of at most ${bits}`;
  const masks = words.map((_, at) => maskOf(Number(length) - 32 * at));
  if (!words.every((word, at) => isUnder(word, word, masks[at]))) {
    return 'has address bits that are set beyond its prefix length';
  }
  return { words, masks };
}

function maskOf(bits: number): number {
  return bits <= 0 ? 0 : (0xffffffff << (32 - Math.min(bits, 32))) >>> 0;
}

/** True if the address lies in the network; false for one of the other family. */
export function isInNetwork({ words, masks }: IpNetwork, address: IpAddress): boolean {
  if (address.length !== words.length) return false;
  for (let at = 0; at < words.length; at += 1) if (!isUnder(words[at], address[at], masks[at])) return false;
  return true;
}

function isUnder(word = 0, address = 0, mask = 0): boolean {
  return (address & mask) >>> 0 === word;
}
