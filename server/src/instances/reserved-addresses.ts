import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { plainAddress } from '../base/ip-address.ts';
import { addressText } from '../x509/subject-alt-names.ts';

/** The addresses that no certificate of an instance holds, whatever right its provider has. */
export interface ReservedAddresses {
  /** Reason why this address, in hexadecimal octets, cannot be in a certificate; undefined when it is not reserved. */
  faultOf(octets: string): string | undefined;
}

interface ReservedAddressesDeps {
  /** Addresses and networks of balancers and proxies: what comes through them seems to come from them. */
  readonly configured: readonly string[];
  /** The addresses of this machine at this moment; default those of its interfaces. */
  readonly own?: () => readonly string[];
}

/* Special addresses: this host, its links, groups of hosts, and no host at all; each machine has another peer behind them. */
const special: readonly (readonly [network: string, prefix: number, kind: string])[] = [
  ['0.0.0.0', 8, 'an unspecified address'],
  ['127.0.0.0', 8, 'a loopback address'],
  ['169.254.0.0', 16, 'a link-local address'],
  ['224.0.0.0', 4, 'a multicast address'],
  ['240.0.0.0', 4, 'a reserved address'],
  ['::', 128, 'an unspecified address'],
  ['::1', 128, 'a loopback address'],
  ['fe80::', 10, 'a link-local address'],
  ['ff00::', 8, 'a multicast address'],
];

function family(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

function add(list: BlockList, entry: string): void {
  const [network = '', prefix] = entry.split('/');
  if (prefix === undefined) list.addAddress(network, family(network));
  else list.addSubnet(network, Number(prefix), family(network));
}

export function addressesOfThisMachine(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((addresses) => (addresses ?? []).map(({ address }) => address));
}

/** The reserved addresses: those of a kind that is not a host's, this server's own, and the configured ones (parsed addresses and networks). */
export function reservedAddresses(deps: ReservedAddressesDeps): ReservedAddresses {
  const kinds = special.map(([network, prefix, kind]) => {
    const list = new BlockList();
    list.addSubnet(network, prefix, family(network));
    return { list, kind };
  });
  const configured = new BlockList();
  for (const entry of deps.configured) add(configured, entry);
  const own = deps.own ?? addressesOfThisMachine;
  return {
    faultOf: (octets) => {
      const address = addressText(octets);
      const kind = kinds.find(({ list }) => list.check(address, family(address)))?.kind;
      if (kind !== undefined) return `is ${kind}, which no certificate holds`;
      const isOwn = new BlockList();
      for (const one of own()) add(isOwn, plainAddress(one));
      if (isOwn.check(address, family(address))) return 'is an address of the token server';
      return configured.check(address, family(address)) ? 'is listed in `instances.reservedAddresses`' : undefined;
    },
  };
}
