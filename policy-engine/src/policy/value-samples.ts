import type { Landmarks } from './condition-operators.ts';
import type { IpNetwork } from './ip-address.ts';

/*
 * Samples that represent all values: each combination of results that some tests have for any text, they have for one of these. The texts are
 * cut by the landmarks of the tests: into those that are named, and the others by the longest named prefix that they begin with and by the
 * networks that they are addresses of. Every part that is not empty gets a sample.
 */

/** Addresses from `first` to `last`, as numbers. */
interface Range {
  readonly first: bigint;
  readonly last: bigint;
}

/** The addresses of one network that are in no smaller one. */
interface Region {
  readonly isIpv4: boolean;
  readonly ranges: readonly Range[];
}

/** A text that begins addresses: which they are when all of them are written alike, and how one is written. */
interface Beginning {
  readonly ranges: readonly Range[];
  write(address: bigint): readonly string[];
}

/** Gap to sample: values that are not named and begin with none of the longer prefixes. */
interface Part {
  readonly prefix: string;
  readonly longer: readonly string[];
  readonly named: ReadonlySet<string>;
}

/**
 * Samples with at least one value for every part that the landmarks cut all values into. Undefined where it cannot be told whether a part is
 * empty: where prefixes meet the many ways to write an address of IPv6.
 */
export function valueSamples({ values, prefixes, networks }: Landmarks): readonly string[] | undefined {
  const named = new Set(values);
  const beginnings = [...new Set(['', ...prefixes])];
  const parts = beginnings.map((prefix): Part => {
    return { prefix, longer: beginnings.filter((one) => one !== prefix && one.startsWith(prefix)), named };
  });
  const samples = new Set([...values, ...prefixes, ...parts.map(freeText)]);
  if (networks.length === 0) return [...samples];
  for (const region of regionsOf(networks)) {
    for (const part of parts) {
      const found = addressIn(region, part);
      if (found === 'unclear') return undefined;
      if (found !== 'empty') samples.add(found);
    }
  }
  return [...samples];
}

/** A value of the part that is not an address, whatever it begins with: each of these ends has a letter that no address has. */
function freeText(part: Part): string {
  for (let index = 0; ; index += 1) {
    const text = part.prefix + (index === 0 ? 'other' : `${String.fromCodePoint(0x4e00 + index)}other`);
    if (isFree(text, part)) return text;
  }
}

function isFree(text: string, { longer, named }: Part): boolean {
  return !named.has(text) && !longer.some((one) => text.startsWith(one));
}

const familyOf = (isIpv4: boolean): Range => ({ first: 0n, last: (1n << (isIpv4 ? 32n : 128n)) - 1n });

function regionsOf(networks: readonly IpNetwork[]): Region[] {
  return [true, false].flatMap((isIpv4) => {
    const own = networks.filter(({ words }) => (words.length === 1) === isIpv4).map(rangeOf);
    const all = [familyOf(isIpv4), ...own];
    return all.map((range) => ({
      isIpv4,
      ranges: without(
        [range],
        all.filter((one) => isInside(one, range)),
      ),
    }));
  });
}

function rangeOf({ words, masks }: IpNetwork): Range {
  const join = (parts: readonly number[]) => parts.reduce((sum, part) => (sum << 32n) + BigInt(part), 0n);
  const first = join(words);
  return { first, last: first + join(masks.map((mask) => ~mask >>> 0)) };
}

function isInside(one: Range, other: Range): boolean {
  return other.first <= one.first && one.last <= other.last && (other.first < one.first || one.last < other.last);
}

function without(ranges: readonly Range[], taken: readonly Range[]): readonly Range[] {
  return taken.reduce<readonly Range[]>(
    (left, { first, last }) =>
      left.flatMap((range) => {
        if (last < range.first || range.last < first) return [range];
        const before = range.first < first ? [{ first: range.first, last: first - 1n }] : [];
        return last < range.last ? [...before, { first: last + 1n, last: range.last }] : before;
      }),
    ranges,
  );
}

function intersect(ranges: readonly Range[], others: readonly Range[]): readonly Range[] {
  return without(ranges, without(ranges, others));
}

/** An address of the region, written as a text of the part. */
function addressIn({ isIpv4, ranges }: Region, part: Part): string | 'empty' | 'unclear' {
  const beginningOf = isIpv4 ? beginsDotted : beginsGroups;
  const beginning = beginningOf(part.prefix);
  if (beginning === 'unclear') return 'unclear';
  const here = intersect(ranges, beginning.ranges);
  if (here.length === 0) return 'empty';
  const longer = part.longer.map(beginningOf);
  if (longer.includes('unclear')) return 'unclear';
  const taken = longer.flatMap((one) => (one === 'unclear' ? [] : one.ranges));
  const free = without(here, taken);
  // One more address than are named, so that one of them is free.
  for (const address of addressesIn(free, part.named.size + 1)) {
    const text = beginning.write(address).find((one) => isFree(one, part));
    if (text !== undefined) return text;
  }
  // An address of IPv4 behind a named beginning has one way to be written.
  return isIpv4 && part.prefix !== '' ? 'empty' : mappedIn(isIpv4 ? ranges : [], part);
}

function* addressesIn(ranges: readonly Range[], most: number): Generator<bigint> {
  let count = 0;
  for (const { first, last } of ranges) {
    for (let address = first; address <= last && count < most; address += 1n, count += 1) yield address;
  }
}

/** IPv4-mapped address of a region whose dotted forms are all taken. */
function mappedIn(ranges: readonly Range[], part: Part): string | 'unclear' {
  for (const address of addressesIn(ranges, part.named.size + 1)) {
    const text = `::ffff:${dotted(address)}`;
    if (isFree(text, part)) return text;
  }
  return 'unclear';
}

/** Addresses whose dotted text begins so. What may begin an IPv4-mapped address is unclear. */
function beginsDotted(prefix: string): Beginning | 'unclear' {
  const write = (address: bigint) => [dotted(address)];
  if (prefix === '') return { ranges: [familyOf(true)], write };
  if (/^0*(?::[0-9a-f:.]*)?$/.test(prefix)) return 'unclear';
  const octets = prefix.split('.');
  const partial = octets.pop() ?? '';
  const isAddress = octets.length < 4 && octets.every((octet) => isOctet(octet)) && /^\d*$/.test(partial);
  if (!isAddress) return { ranges: [], write };
  const base = octets.reduce((sum, octet) => (sum << 8n) + BigInt(octet), 0n);
  const shift = BigInt(8 * (3 - octets.length));
  const ranges = Array.from({ length: 256 }, (_, value) => value)
    .filter((value) => String(value).startsWith(partial))
    .map((value): Range => spread((base << 8n) + BigInt(value), shift));
  return { ranges, write };
}

function isOctet(text: string): boolean {
  return /^(?:0|[1-9]\d{0,2})$/.test(text) && Number(text) < 256;
}

function spread(value: bigint, shift: bigint): Range {
  return { first: value << shift, last: ((value + 1n) << shift) - 1n };
}

function dotted(address: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (address >> shift) & 255n).join('.');
}

/** Addresses whose text begins so, if they are written in groups. With `::`, a dotted end or a zero group at the start it is unclear. */
function beginsGroups(prefix: string): Beginning | 'unclear' {
  if (prefix === '') return { ranges: [familyOf(false)], write: spellings };
  if (!/^[0-9a-f:][0-9a-f:.]*$/.test(prefix) || /^[^:]*\./.test(prefix)) return { ranges: [], write: () => [] };
  const groups = prefix.split(':');
  const partial = groups.pop() ?? '';
  if (
    prefix.includes('.') ||
    prefix.includes('::') ||
    prefix.startsWith(':') ||
    prefix.startsWith('0') ||
    groups.length > 5
  ) {
    return 'unclear';
  }
  if ([...groups, partial].some(({ length }) => length > 4)) return { ranges: [], write: () => [] };
  const base = groups.reduce((sum, group) => (sum << 16n) + BigInt(`0x${group}`), 0n);
  const shift = BigInt(16 * (7 - groups.length));
  const start = partial === '' ? 0n : BigInt(`0x${partial}`);
  const ranges = [0, 1, 2, 3, 4].slice(0, 5 - partial.length).map((digits): Range => {
    const bits = BigInt(4 * digits);
    const values = spread(start, bits);
    const at = base << 16n;
    return { first: (at + values.first) << shift, last: ((at + values.last + 1n) << shift) - 1n };
  });
  return { ranges, write: (address) => [writeBehind(prefix, groups.length, partial, address)] };
}

function writeBehind(prefix: string, count: number, partial: string, address: bigint): string {
  const [next = '', ...rest] = groupsOf(address).slice(count);
  for (let length = Math.max(next.length, partial.length); length <= 4; length += 1) {
    const group = next.padStart(length, '0');
    if (group.startsWith(partial)) return [prefix + group.slice(partial.length), ...rest].join(':');
  }
  return prefix;
}

function groupsOf(address: bigint): string[] {
  return [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n].map((shift) => ((address >> shift) & 0xffffn).toString(16));
}

/** Some ways to write an address of IPv6, the usual one first. */
function spellings(address: bigint): readonly string[] {
  const groups = groupsOf(address);
  const plain = groups.join(':');
  return [
    plain.replace(/(?:^|:)(?:0(?::|$)){2,}/, '::'),
    plain,
    groups.map((group) => group.padStart(4, '0')).join(':'),
  ];
}
