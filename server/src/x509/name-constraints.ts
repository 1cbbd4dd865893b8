import { DerReader, element, sequence } from '@signet/policy-engine/internal/der';
import { type ReadCertificate, readCertificate } from './certificate-reader.ts';
import { oids } from './oids.ts';
import { type AltName, addressText } from './subject-alt-names.ts';

/*
 * Names that an authority may certify (RFC 5280 §4.2.1.10). Constraints on directory names and on kinds that no certificate of the server has
 * are not read.
 */

/** DNS names, hosts of URIs and of mail addresses; networks as address and mask in hexadecimal. */
export interface ConstrainedNames {
  readonly dns: readonly string[];
  readonly uri: readonly string[];
  readonly email: readonly string[];
  readonly ip: readonly string[];
}

/** A name is one of a permitted kind, where that has any, and of no excluded one. */
export interface NameConstraints {
  readonly permitted: ConstrainedNames;
  readonly excluded: ConstrainedNames;
}

const tagOf = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const;
const kinds = ['dns', 'uri', 'email', 'ip'] as const;

/** The value of an extension that permits these names, and of their kinds no others. */
export function writeNameConstraints(permitted: ConstrainedNames): Buffer {
  const subtrees = kinds.flatMap((kind) =>
    permitted[kind].map((base) => sequence(element(tagOf[kind], Buffer.from(base, kind === 'ip' ? 'hex' : 'latin1')))),
  );
  return sequence(element(0xa0, ...subtrees));
}

/** The constraints of each of these certificates that has some. Throws `DerError`. */
export function nameConstraintsIn(ders: readonly Buffer[]): readonly NameConstraints[] {
  return ders.flatMap((der) => constraintsOf(readCertificate(der)) ?? []);
}

function constraintsOf({ extensions }: ReadCertificate): NameConstraints | undefined {
  const found = extensions.get(oids.nameConstraints.hex);
  if (found === undefined) return undefined;
  const reader = new DerReader(found.value).enter(0x30, 'the name constraints');
  const permitted = readSubtrees(reader, 0xa0);
  const excluded = readSubtrees(reader, 0xa1);
  reader.finish('the name constraints');
  return { permitted, excluded };
}

function readSubtrees(reader: DerReader, tag: number): ConstrainedNames {
  const names = { dns: [] as string[], uri: [] as string[], email: [] as string[], ip: [] as string[] };
  if (!reader.next(tag)) return names;
  const subtrees = reader.enter(tag, 'the subtrees');
  while (!subtrees.done) {
    const base = subtrees.enter(0x30, 'a subtree').any('the base of a subtree');
    const kind = kinds.find((candidate) => tagOf[candidate] === base.tag);
    if (kind !== undefined) names[kind].push(base.content.toString(kind === 'ip' ? 'hex' : 'latin1'));
  }
  return names;
}

/** Reason why an authority with these constraints may not certify these names; undefined if it may. */
export function constraintFault(
  { commonName, altNames }: { readonly commonName: string; readonly altNames: readonly AltName[] },
  constraints: readonly NameConstraints[],
): string | undefined {
  const isPermitted = (name: AltName) => constraints.every((each) => permits(each, name));
  const fault = altNames.find((name) => !isPermitted(name));
  if (fault !== undefined) {
    const text = fault.kind === 'ip' ? addressText(fault.value) : fault.value;
    return `\`${text}\` is outside of the name constraints of the issuing authority`;
  }
  if (altNames.some(({ kind }) => kind === 'dns') || !looksLikeHost.test(commonName)) return undefined;
  if (isPermitted({ kind: 'dns', value: commonName })) return undefined;
  return 'a dns name is required: the issuing authority has constraints on them, which hold for the common name otherwise';
}

/* OpenSSL takes the common name of a certificate without DNS names for one. */
const looksLikeHost = /^[a-z0-9_-]+(\.[a-z0-9_-]+)+$/i;

function permits({ permitted, excluded }: NameConstraints, { kind, value }: AltName): boolean {
  if (kind === 'other') return true;
  const isWithin = (base: string) => within[kind](value.toLowerCase(), base.toLowerCase());
  if (excluded[kind].some(isWithin)) return false;
  return permitted[kind].length === 0 || permitted[kind].some(isWithin);
}

const within: Readonly<Record<(typeof kinds)[number], (value: string, base: string) => boolean>> = {
  dns: (name, base) => base === '' || name === base || name.endsWith(base.startsWith('.') ? base : `.${base}`),
  uri: (uri, base) => isHostWithin(URL.parse(uri)?.hostname ?? '', base),
  email: (address, base) => address === base || isHostWithin(address.slice(address.lastIndexOf('@') + 1), base),
  ip: (address, base) => isInNetwork(Buffer.from(address, 'hex'), Buffer.from(base, 'hex')),
};

/** A host itself, or with a dot before it those below it. */
function isHostWithin(host: string, base: string): boolean {
  return base.startsWith('.') ? host.endsWith(base) : host === base;
}

function isInNetwork(address: Buffer, network: Buffer): boolean {
  const { length } = address;
  if (network.length !== 2 * length) return false;
  return address.every((octet, at) => (octet & (network[length + at] ?? 0)) === network[at]);
}

/** A network in CIDR form, or one address, as a constraint has it. `octets` are those of its address in hexadecimal. */
export function networkConstraint(octets: string, prefix = octets.length * 4): string {
  const address = Buffer.from(octets, 'hex');
  const mask = address.map((_, at) => (0xff00 >> Math.max(0, Math.min(8, prefix - at * 8))) & 0xff);
  return Buffer.concat([address.map((octet, at) => octet & (mask[at] ?? 0)), mask]).toString('hex');
}
