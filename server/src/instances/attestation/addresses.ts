import { BlockList, isIP } from 'node:net';

/** The addresses that no provider is at unless an operator lists them by their number: this host, its links, no host at all. */
const special: readonly (readonly [network: string, prefix: number, family: 'ipv4' | 'ipv6'])[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  ['::', 127, 'ipv6'],
  ['64:ff9b::', 96, 'ipv6'],
  ['fe80::', 10, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
];

/** Which provider endpoints the server may call. */
export interface AddressPolicy {
  /** Whether the host of an endpoint is listed by name. */
  readonly allowsHost: (host: string) => boolean;
  /** Whether a connection to this address may be opened for a host that is listed by name, or is not. */
  readonly allowsAddress: (address: string, hostIsListed: boolean) => boolean;
}

/** An entry of the operator's list that is neither a host name, `*.suffix`, an address nor a network. */
export class AddressPolicyError extends Error {
  override readonly name = 'AddressPolicyError';
}

function family(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

function addNetwork(list: BlockList, entry: string): boolean {
  const [network = '', prefix, ...more] = entry.split('/');
  if (isIP(network) === 0 || more.length > 0) return false;
  if (prefix === undefined) {
    list.addAddress(network, family(network));
    return true;
  }
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (!(bits <= (family(network) === 'ipv6' ? 128 : 32))) return false;
  list.addSubnet(network, bits, family(network));
  return true;
}

const hostGrammar = /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;

/**
 * Reads the operator's list: host names, `*.suffix`, addresses and networks (`10.0.0.0/8`). A host that is listed by name may have
 * any address but a special one (loopback, link-local, multicast); those count only when they are listed by number.
 * Throws `AddressPolicyError`.
 */
export function parseAddressPolicy(allowed: readonly string[]): AddressPolicy {
  const networks = new BlockList();
  const reserved = new BlockList();
  for (const [network, prefix, kind] of special) reserved.addSubnet(network, prefix, kind);
  const hosts = new Set<string>();
  for (const entry of allowed) {
    const text = entry.toLowerCase();
    if (addNetwork(networks, text)) continue;
    if (!hostGrammar.test(text)) throw new AddressPolicyError(`\`${entry}\` is no host name, address or network`);
    hosts.add(text);
  }
  const parents = (host: string) => host.split('.').map((_, index, labels) => `*.${labels.slice(index + 1).join('.')}`);
  return {
    allowsHost: (host) => hosts.has(host) || parents(host).some((parent) => hosts.has(parent)),
    allowsAddress: (address, hostIsListed) => {
      const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
      if (isIP(plain) === 0) return false;
      if (networks.check(plain, family(plain))) return true;
      return hostIsListed && !reserved.check(plain, family(plain));
    },
  };
}
