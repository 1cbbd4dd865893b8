import { isIPv4, isIPv6 } from 'node:net';

const mapped = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** An address without its zone, an IPv4 one without its IPv6 wrapping. */
export function plainAddress(address: string): string {
  return address.replace(mapped, '').replace(/%.*$/, '');
}

/** The octets of an address in hexadecimal, four or sixteen of them; undefined when it is not an address. */
export function addressOctets(address: string): string | undefined {
  const plain = plainAddress(address);
  if (isIPv4(plain)) return Buffer.from(plain.split('.').map(Number)).toString('hex');
  if (!isIPv6(plain)) return undefined;
  const [head = '', tail] = plain.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const before = groups(head);
  const after = groups(tail ?? '');
  const filled = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => '0'), ...after];
  return filled
    .map((group) => group.padStart(4, '0'))
    .join('')
    .toLowerCase();
}
