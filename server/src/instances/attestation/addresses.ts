import { BlockList, isIP } from 'node:net';
import { addressOctets } from '../../base/ip-address.ts';

type Family = 'ipv4' | 'ipv6';
type Network = readonly [network: string, prefix: number, family: Family];

/**
 * The addresses that no provider is at unless an operator lists them by their number: this host, its links, no host at all, and IPv6
 * addresses that stand for an IPv4 one (RFC 4291, 6052, 3056, 4380).
 */
const special: readonly Network[] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['224.0.0.0', 3, 'ipv4'],
  // This host, IPv4-compatible and translated addresses, NAT64.
  ['::', 8, 'ipv6'],
  ['100::', 64, 'ipv6'],
  // Teredo and other protocols.
  ['2001::', 23, 'ipv6'],
  ['2002::', 16, 'ipv6'],
  ['fe80::', 9, 'ipv6'],
  ['ff00::', 8, 'ipv6'],
];

/** Metadata services of clouds, which hand out the credentials of this host: never called, whatever an operator lists. */
const cloudServices: readonly Network[] = [
  // AWS, Google, Azure, Oracle and most others; containers and pods of AWS.
  ['169.254.169.254', 32, 'ipv4'],
  ['169.254.170.2', 32, 'ipv4'],
  ['169.254.170.23', 32, 'ipv4'],
  ['fd00:ec2::254', 128, 'ipv6'],
  ['fd00:ec2::23', 128, 'ipv6'],
  ['fd20:ce::254', 128, 'ipv6'],
  ['fd00:c1::a9fe:a9fe', 128, 'ipv6'],
  // Azure's host, Oracle's, and Alibaba.
  ['168.63.129.16', 32, 'ipv4'],
  ['192.0.0.192', 32, 'ipv4'],
  ['100.100.100.200', 32, 'ipv4'],
];

/** Policy for the provider endpoints that the server may call. */
export interface AddressPolicy {
  /** Predicate: the host of an endpoint is listed by name. */
  readonly allowsHost: (host: string) => boolean;
  /** Predicate: a connection to this address may be opened for a host that is listed by name, or is not. */
  readonly allowsAddress: (address: string, hostIsListed: boolean) => boolean;
}

/** An entry of the operator's list that is neither a host name, `*.suffix`, an address nor a network. */
class AddressPolicyError extends Error {
  override readonly name = 'AddressPolicyError';
}

function family(address: string): Family {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

/** A list for each family: in one for both, an IPv6 network that holds `::ffff:0:0/96` would hold every IPv4 address. */
class NetworkList {
  readonly #lists = { ipv4: new BlockList(), ipv6: new BlockList() };

  constructor(networks: readonly Network[] = []) {
    for (const network of networks) this.add(network);
  }

  add([network, prefix, kind]: Network): void {
    this.#lists[kind].addSubnet(network, prefix, kind);
  }

  has(address: string): boolean {
    return this.#lists[family(address)].check(address, family(address));
  }
}

/** An address or a network; undefined for what is neither. */
function readNetwork(entry: string): Network | undefined {
  const [network = '', prefix, ...more] = entry.split('/');
  if (isIP(network) === 0 || more.length > 0) return undefined;
  const most = family(network) === 'ipv6' ? 128 : 32;
  if (prefix === undefined) return [network, most, family(network)];
  const bits = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return bits <= most ? [network, bits, family(network)] : undefined;
}

const hostGrammar = /^(?:\*\.)?[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;

const reserved = new NetworkList(special);
const never = new NetworkList(cloudServices);

/**
 * Reads the operator's list: host names, `*.suffix`, addresses and networks (`10.0.0.0/8`). A host that is listed by name may have any address
 * but a special one (loopback, link-local, multicast, one that stands for another); those are allowed only when they are listed by number.
 * Metadata services of clouds are never allowed. Throws `AddressPolicyError`.
 */
export function parseAddressPolicy(allowed: readonly string[]): AddressPolicy {
  const networks = new NetworkList();
  const hosts = new Set<string>();
  for (const entry of allowed) {
    const text = entry.toLowerCase();
    const network = readNetwork(text);
    if (network !== undefined) networks.add(network);
    else if (hostGrammar.test(text)) hosts.add(text);
    else throw new AddressPolicyError(`\`${entry}\` is not a host name, address or network`);
  }
  const parents = (host: string) => host.split('.').map((_, index, labels) => `*.${labels.slice(index + 1).join('.')}`);
  return {
    allowsHost: (host) => hosts.has(host) || parents(host).some((parent) => hosts.has(parent)),
    allowsAddress: (address, hostIsListed) => {
      const [plain, ...within] = addressesIn(address);
      if (plain === undefined || [plain, ...within].some((each) => never.has(each))) return false;
      // An address that stands for another leads to that one.
      if (within.some((each) => reserved.has(each) && !networks.has(each))) return false;
      return networks.has(plain) || (hostIsListed && !reserved.has(plain));
    },
  };
}

/** Address to call of those that a name has: none unless all are allowed, as the owner of the name chooses which one is tried. */
export function addressToCall(found: readonly string[], isAllowed: (address: string) => boolean): string | undefined {
  return found.every(isAllowed) ? found[0] : undefined;
}

/** The address, an IPv4 one without its IPv6 wrapping, and after it the IPv4 addresses that it may stand for; none with a zone. */
function addressesIn(address: string): string[] {
  if (isIP(address) === 0 || address.includes('%')) return [];
  if (isIP(address) === 4) return [address];
  const octets = addressOctets(new URL(`http://[${address}]`).hostname.slice(1, -1)) ?? '';
  const ipv4 = (...at: readonly number[]) => at.map((index) => Number.parseInt(octets.substr(index * 2, 2), 16));
  if (/^0{20}ffff/.test(octets)) return [ipv4(12, 13, 14, 15).join('.')];
  return [address, ...embedded(octets, ipv4).map((parts) => parts.join('.'))];
}

type Octets = readonly number[];

function embedded(octets: string, ipv4: (...at: readonly number[]) => Octets): readonly Octets[] {
  const last = ipv4(12, 13, 14, 15);
  // IPv4-compatible, translated, NAT64 and ISATAP addresses end with it.
  if (/^(0{24}|0{16}ffff0{4}|0064ff9b0{16}|.{16}0[02]005efe)/.test(octets)) return [last];
  if (octets.startsWith('2002')) return [ipv4(2, 3, 4, 5)];
  if (octets.startsWith('20010000')) return [ipv4(4, 5, 6, 7), last.map((octet) => 255 - octet)];
  if (!octets.startsWith('0064ff9b0001')) return [];
  // A translator of one's own: with a prefix of 48, 56, 64 or 96 bits, around the octet that is always zero.
  const shorter = [ipv4(6, 7, 9, 10), ipv4(7, 9, 10, 11), ipv4(9, 10, 11, 12)];
  return [last, ...shorter.filter(([first]) => first !== 0)];
}
