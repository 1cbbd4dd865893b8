import { BlockList, isIP } from 'node:net';
import { addressOctets, plainAddress } from '../base/ip-address.ts';

/**
 * The network that counts as one stranger: an IPv4 address, or the 64 bits of an IPv6 one that a site hands out from; IPv4 in its IPv6
 * wrapping is IPv4. What is not an address counts together.
 */
export function strangerOf(address: string): string {
  const octets = addressOctets(address);
  if (octets === undefined) return 'unknown';
  if (octets.length === 8) return plainAddress(address);
  return `${(octets.slice(0, 16).match(/.{4}/g) ?? []).map((group) => group.replace(/^0{1,3}/, '')).join(':')}::/64`;
}

/** Predicate: an address is in one of these addresses and networks (parsed by the configuration). */
export function addressList(entries: readonly string[]): (address: string) => boolean {
  // A list for each family: in one for both, an IPv6 network that holds `::ffff:0:0/96` would hold every IPv4 address.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const entry of entries) {
    const [network = '', prefix] = entry.split('/');
    const family = isIP(network) === 6 ? 'ipv6' : 'ipv4';
    lists[family].addSubnet(network, prefix === undefined ? (family === 'ipv6' ? 128 : 32) : Number(prefix), family);
  }
  return (address) => {
    const plain = plainAddress(address);
    const version = isIP(plain);
    return version !== 0 && lists[version === 6 ? 'ipv6' : 'ipv4'].check(plain, version === 6 ? 'ipv6' : 'ipv4');
  };
}
