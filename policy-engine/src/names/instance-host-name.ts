/** Parts of an instance's name: its provider, its service, and its id (a PathElement, which keeps its case). */
export interface InstanceNameParts {
  /** `domain.service`, as the domain and the service in lower case. */
  readonly provider: string;
  readonly domain: string;
  readonly service: string;
  readonly instanceId: string;
}

/** The label below which no name of a service stands. */
export const instanceNameMarker = 'instanceid';

/** Prefix of a label that stands for the hash of a name. */
export const hashedLabelPrefix = 'sha256-';

/** Octets of a host name (RFC 1035 §2.3.4, as text). */
const maxNameLength = 253;
/** Octets of a suffix below which every instance has a name, whatever its parts. */
export const maxSuffixLength = 175;

const label = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** Former label form: names with underscores are not certified any more (RFC 5280 §4.2.1.6). */
const formerLabel = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * The host name of an instance, `<id>.<service>.<domain>.<provider>.instanceid.<suffix>` (decision record 013): no two instances
 * have the same one. In the domain and the provider `-` is written `--` and `.` is written `-`; as no segment of a name begins with `-`,
 * this can be read back. A part that is not a DNS label in lower case is written `sha256-` and its SHA-256 in base32. Where the whole
 * is longer than a host name may be, it is `sha256-<hash of all parts>.hashed.instanceid.<suffix>`, of two labels instead of four.
 * `sha256` hashes a text in UTF-8.
 */
export function instanceHostName(
  parts: InstanceNameParts,
  suffix: string,
  sha256: (text: string) => Uint8Array,
): string {
  return hostNameOf(parts, suffix, { label, sha256 });
}

/** The same name as it was while parts with underscores were labels: certificates and requests of before have it. */
export function formerInstanceHostName(
  parts: InstanceNameParts,
  suffix: string,
  sha256: (text: string) => Uint8Array,
): string {
  return hostNameOf(parts, suffix, { label: formerLabel, sha256 });
}

interface LabelForm {
  /** Label form that is used unchanged. */
  readonly label: RegExp;
  readonly sha256: (text: string) => Uint8Array;
}

function hostNameOf(parts: InstanceNameParts, suffix: string, form: LabelForm): string {
  const { provider, domain, service, instanceId } = parts;
  const labels = [
    labelOf(instanceId, instanceId, form),
    labelOf(service, service, form),
    labelOf(domain, withDashes(domain), form),
    labelOf(provider, withDashes(provider), form),
  ];
  const name = `${labels.join('.')}.${instanceNameMarker}.${suffix}`;
  if (name.length <= maxNameLength) return name;
  const all = hashedLabel(JSON.stringify([provider, domain, service, instanceId]), form.sha256);
  return `${all}.hashed.${instanceNameMarker}.${suffix}`;
}

function withDashes(name: string): string {
  const doubled = name.includes('-') ? name.replaceAll('-', '--') : name;
  return doubled.includes('.') ? doubled.replaceAll('.', '-') : doubled;
}

/** The readable form where it is a label that neither looks like a hash nor like an internationalized name (RFC 5890). */
function labelOf(text: string, readable: string, { label, sha256 }: LabelForm): string {
  const isReadable = label.test(readable) && !readable.startsWith(hashedLabelPrefix) && !readable.startsWith('xn--');
  return isReadable ? readable : hashedLabel(text, sha256);
}

function hashedLabel(text: string, sha256: (text: string) => Uint8Array): string {
  return `${hashedLabelPrefix}${base32(sha256(text))}`;
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** Base32 of RFC 4648 §6, in lower case and without padding, of a hash: its last character has bits of less than a whole byte. */
function base32(bytes: Uint8Array): string {
  let bits = 0;
  let value = 0;
  let text = '';
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xfff;
    bits += 8;
    for (; bits >= 5; bits -= 5) text += alphabet[(value >> (bits - 5)) & 31];
  }
  return text + alphabet[(value << (5 - bits)) & 31];
}
