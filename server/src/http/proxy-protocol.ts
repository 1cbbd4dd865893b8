import { isIPv4 } from 'node:net';

/** First bytes of a connection: a whole header of `length` bytes, the beginning of one, or none. */
type ProxyHeader =
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'malformed'; readonly reason: string }
  /** `address` is absent where the balancer speaks for itself. */
  | { readonly kind: 'complete'; readonly length: number; readonly address?: string };

const signature = Buffer.from('0d0a0d0a000d0a515549540a', 'hex');
const fixedLength = 16;
/** The addresses and the extensions after them, in bytes; balancers send a few hundred. */
const maxVariableLength = 4096;

/** The bytes of the two addresses and ports of each family of streams. */
const families: Readonly<Record<number, { readonly length: number; readonly addressLength: number }>> = {
  17: { length: 12, addressLength: 4 },
  33: { length: 36, addressLength: 16 },
};
const unspecified = 0;

/**
 * Reads the header of the PROXY protocol, version 2 (haproxy's `proxy-protocol.txt`, section 2.2), of TCP over IPv4 or IPv6. Extensions are
 * skipped. Refuses as soon as a byte is wrong. Pure.
 */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  const known = Math.min(bytes.length, signature.length);
  if (!bytes.subarray(0, known).equals(signature.subarray(0, known))) return malformed('no signature');
  const [command, family] = [bytes[12], bytes[13]];
  if (command === undefined) return { kind: 'incomplete' };
  if (command !== 0x20 && command !== 0x21) return malformed('another version or command');
  if (family === undefined) return { kind: 'incomplete' };
  const addresses = families[family];
  if (command === 0x21 && addresses === undefined && family !== unspecified) return malformed('another family');
  if (bytes.length < fixedLength) return { kind: 'incomplete' };
  const variable = bytes.readUInt16BE(14);
  if (variable > maxVariableLength) return malformed('too long');
  if (command === 0x21 && addresses !== undefined && variable < addresses.length) return malformed('too short');
  const length = fixedLength + variable;
  if (bytes.length < length) return { kind: 'incomplete' };
  if (command === 0x20 || addresses === undefined) return { kind: 'complete', length };
  const address = addressText(bytes.subarray(fixedLength, fixedLength + addresses.addressLength));
  return { kind: 'complete', length, address };
}

function malformed(reason: string): ProxyHeader {
  return { kind: 'malformed', reason };
}

/** IPv4-mapped addresses stay so: users of an address unwrap it. */
function addressText(octets: Buffer): string {
  if (octets.length === 4) return octets.join('.');
  const groups = octets.toString('hex').match(/.{4}/g) ?? [];
  const last = octets.subarray(12).join('.');
  if (/^0{20}ffff/.test(octets.toString('hex')) && isIPv4(last)) return `::ffff:${last}`;
  return groups.map((group) => group.replace(/^0{1,3}/, '')).join(':');
}
