import {
  type DomainName,
  hashedLabelPrefix,
  InvalidNameError,
  type PathElement,
  type PrincipalName,
  parsePathElement,
  type RoleName,
  type ServiceName,
} from '@signet/policy-engine/names';
import { InvalidRequestError } from '../errors.ts';
import { type IssuedAltName, maxCommonNameLength } from './certificate-profile.ts';
import type { CertificateRequest } from './csr.ts';
import { type RelativeName, relativeName } from './distinguished-name.ts';
import {
  beforeSuffix,
  instanceIdName,
  isDnsName,
  isInstanceArea,
  type NamingRules,
  roleSpiffeId,
  serviceSpiffeId,
  suffixesOf,
} from './naming.ts';
import { oids } from './oids.ts';
import { type AltName, addressText } from './subject-alt-names.ts';

/*
 * Which names a request may ask for, in one place (docs/reference/certificates.md#certificate-requests). A name that the caller may not
 * hold is refused with the rule that forbids it; the names that every certificate of a kind has (its SPIFFE id, an instance's id) may be
 * left out of the request.
 */

/** The names that go into a certificate. */
export interface GrantedNames {
  readonly commonName: string;
  readonly subject: readonly Uint8Array[];
  readonly altNames: readonly IssuedAltName[];
}

function refuse(rule: string): never {
  throw new InvalidRequestError(`csr ${rule}`);
}

const copiedAttributes = new Set<RelativeName['attribute']>([
  'country',
  'stateOrProvince',
  'locality',
  'organization',
  'organizationalUnit',
]);

function grantSubject(request: CertificateRequest, commonName: string, rules: NamingRules): readonly Uint8Array[] {
  if (commonName.length > maxCommonNameLength) {
    refuse(`common name would have more than ${maxCommonNameLength} characters: \`${commonName}\``);
  }
  const same = rules.athenz
    ? request.commonName.toLowerCase() === commonName.toLowerCase()
    : request.commonName === commonName;
  if (!same) refuse(`common name must be \`${commonName}\``);
  const seen = new Set<string>();
  return request.subject.map(({ attribute, element }) => {
    if (attribute === 'commonName') return relativeName(oids.commonName, commonName);
    if (!rules.athenz || !copiedAttributes.has(attribute)) refuse('subject may hold only the common name');
    if (seen.has(attribute)) refuse('subject may hold each attribute once');
    seen.add(attribute);
    return element;
  });
}

function refuseDuplicates(names: readonly AltName[]): void {
  const seen = new Set<string>();
  for (const { kind, value } of names) {
    const key = `${kind}:${value}`;
    if (seen.has(key)) refuse(`asks for the ${kind} name \`${value}\` twice`);
    seen.add(key);
  }
}

function quoted(name: AltName): string {
  return name.value === '' ? '' : ` \`${name.value.slice(0, 256)}\``;
}

function checkDnsForm(name: string): void {
  if (!isDnsName(name)) refuse(`dns name \`${name.slice(0, 256)}\` is not a valid host name`);
}

/** What the caller may hold beside the names that follow from who it is. */
export interface ServiceGrants {
  /** Whether the provider of the instance may give DNS names below this suffix (no leading dot). */
  mayUseSuffix(suffix: string): boolean;
  /** The host name that the request states, when its provider may vouch for it. */
  readonly hostname?: string | undefined;
  /** The caller's address, four or sixteen octets in hexadecimal. */
  readonly address?: string | undefined;
  /** The rule by which that address is not given; undefined when it may be. */
  addressFault(address: string): string | undefined;
  /** The domain as one DNS label; undefined where another domain has it, and then no service of this one has a DNS name. */
  readonly dnsForm: string | undefined;
  /** DNS names that the presented certificate holds. */
  readonly heldDnsNames?: ReadonlySet<string> | undefined;
  /** Whether a name, in lower case, is one by which clients know the token server. */
  readonly isServerHost?: ((name: string) => boolean) | undefined;
}

export interface ServiceSubject {
  readonly domain: DomainName;
  readonly service: ServiceName;
}

export interface InstanceSubject extends ServiceSubject {
  readonly provider: string;
  /** From the path of a refresh, or from a field of the body; the request's own must agree with it. */
  readonly instanceId?: PathElement | undefined;
}

const idMarker = '.instanceid.';

/** How a DNS name states the id of an instance; undefined when it is not a name of an instance. */
type StatedId = { readonly id: string; readonly isOwn: boolean } | undefined;

/*
 * Below the server's own suffix: the name of this very instance, or the id before `.instanceid.`, as it was asked for before names
 * carried their owner. The certificate gets the instance's own name in the place of either.
 */
function idFromOwnName(name: string, before: string, subject: InstanceSubject, rules: NamingRules): StatedId {
  const area = '.instanceid';
  if (!before.endsWith(area)) return undefined;
  const text = before.slice(0, -area.length);
  const known = subject.instanceId;
  if (known !== undefined) {
    const isKnown = text === known || name === instanceIdName(rules, { ...subject, instanceId: known });
    return { id: isKnown ? known : text, isOwn: true };
  }
  const [first = ''] = text.split('.');
  if (first.startsWith(hashedLabelPrefix)) refuse('holds the hash of an instance id: state it in `x509CertInstanceId`');
  const isReadable = name === instanceIdName(rules, { ...subject, instanceId: first });
  return { id: isReadable ? first : text, isOwn: true };
}

/** The instance id that a DNS name carries, if it is such a name. */
function idFromDns(name: string, subject: InstanceSubject, rules: NamingRules, grants: ServiceGrants): StatedId {
  const before = beforeSuffix(name, rules.dnsSuffix);
  const own = before === undefined ? undefined : idFromOwnName(name, before, subject, rules);
  if (own !== undefined || !rules.athenz) return own;
  const at = name.indexOf(idMarker);
  const rest = name.slice(at + idMarker.length);
  if (at <= 0 || !rest.startsWith('athenz.')) return undefined;
  const suffix = rest.slice('athenz.'.length);
  if (suffix !== rules.dnsSuffix && !grants.mayUseSuffix(suffix)) return undefined;
  checkDnsForm(name);
  return { id: name.slice(0, at), isOwn: false };
}

function idFromUri(uri: string, provider: string): string {
  const [owner = '', ...rest] = uri.slice('athenz://instanceid/'.length).split('/');
  if (owner.toLowerCase() !== provider) refuse(`uri name \`${uri}\` is of another provider than \`${provider}\``);
  return rest.join('/');
}

/* Below the server's own suffix there are its own names only: whatever else ended so could be one of another service. */
function mayHoldOwnName(before: string, subject: ServiceSubject, rules: NamingRules, grants: ServiceGrants): boolean {
  if (before === `${subject.service}.${subject.domain}`) return true;
  return before === `${subject.service}.${grants.dnsForm}` && grants.mayUseSuffix(rules.dnsSuffix);
}

function mayHoldDns(asked: string, subject: ServiceSubject, rules: NamingRules, grants: ServiceGrants): boolean {
  // INVARIANT: DNS knows no case: in capitals it is the same name, and one of somebody else as well.
  const name = asked.toLowerCase();
  if (isInstanceArea(name, rules) || (rules.athenz && name.includes(idMarker))) return false;
  if (grants.heldDnsNames?.has(asked) === true || name === grants.hostname) return true;
  if (grants.dnsForm === undefined) return false;
  const before = beforeSuffix(name, rules.dnsSuffix);
  if (before !== undefined) return mayHoldOwnName(before, subject, rules, grants);
  const own = `${subject.service}.${grants.dnsForm}.`;
  const wild = `*.${own}`;
  if (name.startsWith(own)) return grants.mayUseSuffix(name.slice(own.length));
  if (!rules.athenz) return false;
  if (name.startsWith(wild)) return grants.mayUseSuffix(name.slice(wild.length));
  if (name.startsWith('*') || grants.isServerHost?.(name) === true) return false;
  return suffixesOf(name).some((suffix) => grants.mayUseSuffix(suffix));
}

function checkAddress(address: string, grants: ServiceGrants): void {
  if (address !== grants.address) {
    refuse(`ip name \`${addressText(address)}\` is not the address that the request comes from`);
  }
  const fault = grants.addressFault(address);
  if (fault !== undefined) refuse(`ip name \`${addressText(address)}\` ${fault}`);
}

function checkServiceUri(name: AltName, subject: ServiceSubject, rules: NamingRules): void {
  const expected = serviceSpiffeId(rules, subject.domain, subject.service);
  if (name.value === expected) return;
  const older = `spiffe://${subject.domain}/sa/${subject.service}`;
  const { value } = name;
  if (rules.athenz && (value.toLowerCase() === expected || value.toLowerCase() === older)) return;
  refuse(`uri name${quoted(name)} is not \`${expected}\``);
}

function checkServiceName(name: AltName, subject: ServiceSubject, rules: NamingRules, grants: ServiceGrants): void {
  switch (name.kind) {
    case 'uri':
      checkServiceUri(name, subject, rules);
      break;
    case 'dns':
      // The one host name of a single label (RFC 6761 §6.3), for those who may hold it.
      if (name.value !== 'localhost' || grants.hostname !== 'localhost') checkDnsForm(name.value);
      if (!mayHoldDns(name.value, subject, rules, grants)) {
        refuse(`dns name${quoted(name)} is not one that \`${subject.domain}.${subject.service}\` may hold`);
      }
      break;
    case 'ip':
      checkAddress(name.value, grants);
      break;
    case 'email':
      refuse(`email name${quoted(name)} is not for services`);
      break;
    case 'other':
      refuse('asks for an alternative name of a kind that is never given');
      break;
    default:
      name satisfies never;
  }
}

function issued(names: readonly AltName[]): readonly IssuedAltName[] {
  return names.filter((name): name is IssuedAltName => name.kind !== 'other');
}

function isSpiffe(name: AltName): boolean {
  return name.kind === 'uri' && name.value.toLowerCase().startsWith('spiffe:');
}

/* Exactly one URI makes the certificate an X509-SVID (SPIFFE X509-SVID §2); the profile `athenz` copies what it is sent. */
function withSpiffeId(names: readonly AltName[], id: string, rules: NamingRules): readonly IssuedAltName[] {
  if (names.filter(isSpiffe).length > 1) refuse('asks for more than one spiffe uri');
  const given = issued(names);
  return rules.athenz || given.some(isSpiffe) ? given : [{ kind: 'uri', value: id }, ...given];
}

/** The names of a service's own certificate. Throws `InvalidRequestError` naming the rule. */
export function grantServiceNames(
  request: CertificateRequest,
  subject: ServiceSubject,
  rules: NamingRules,
  grants: ServiceGrants,
): GrantedNames {
  const commonName = `${subject.domain}.${subject.service}`;
  const relativeNames = grantSubject(request, commonName, rules);
  refuseDuplicates(request.altNames);
  for (const name of request.altNames) checkServiceName(name, subject, rules, grants);
  const id = serviceSpiffeId(rules, subject.domain, subject.service);
  return { commonName, subject: relativeNames, altNames: withSpiffeId(request.altNames, id, rules) };
}

interface InstanceNames {
  readonly ids: readonly string[];
  /** What goes into the certificate of that which was asked for: without the names that its own one stands for. */
  readonly kept: readonly AltName[];
  readonly others: readonly AltName[];
}

function splitInstanceNames(
  request: CertificateRequest,
  subject: InstanceSubject,
  rules: NamingRules,
  grants: ServiceGrants,
): InstanceNames {
  const ids: string[] = [];
  const kept: AltName[] = [];
  const others: AltName[] = [];
  for (const name of request.altNames) {
    const stated =
      name.kind === 'dns' ? idFromDns(name.value, subject, rules, grants) : idFromAthenzUri(name, subject, rules);
    if (stated !== undefined) ids.push(stated.id);
    else if (!isInstanceLabel(name, rules)) others.push(name);
    if (stated?.isOwn !== true) kept.push(name);
  }
  return { ids, kept, others };
}

function idFromAthenzUri(name: AltName, subject: InstanceSubject, rules: NamingRules): StatedId {
  if (!rules.athenz || name.kind !== 'uri' || !name.value.startsWith('athenz://instanceid/')) return undefined;
  return { id: idFromUri(name.value, subject.provider), isOwn: false };
}

/** What an instance calls itself in the profile `athenz`: copied, it names nobody. */
function isInstanceLabel({ kind, value }: AltName, { athenz }: NamingRules): boolean {
  return athenz && kind === 'uri' && value.startsWith('athenz://instancename/');
}

function oneInstanceId(ids: readonly string[], subject: InstanceSubject): PathElement {
  const [first = subject.instanceId] = ids;
  if (first === undefined) refuse('must carry the instance id, or `x509CertInstanceId` state it');
  const id = instanceIdFrom(first);
  if (subject.instanceId !== undefined && id !== subject.instanceId) {
    refuse(`instance id \`${id}\` is not \`${subject.instanceId}\``);
  }
  if (ids.some((other) => other !== id)) refuse('names more than one instance id');
  return id;
}

function instanceIdFrom(text: string): PathElement {
  try {
    return parsePathElement(text, 'instance id');
  } catch (cause) {
    if (cause instanceof InvalidNameError) return refuse(`instance id is not a valid PathElement`);
    throw cause;
  }
}

function checkHostnameUri(names: readonly AltName[], grants: ServiceGrants): readonly AltName[] {
  return names.filter((name) => {
    if (name.kind !== 'uri' || !name.value.startsWith('athenz://hostname/')) return true;
    if (name.value !== `athenz://hostname/${grants.hostname}`)
      refuse(`uri name${quoted(name)} is not the stated host name`);
    return false;
  });
}

/** The names of an instance's certificate and the id that it carries. Throws `InvalidRequestError` naming the rule. */
export function grantInstanceNames(
  request: CertificateRequest,
  subject: InstanceSubject,
  rules: NamingRules,
  grants: ServiceGrants,
): GrantedNames & { readonly instanceId: PathElement } {
  const commonName = `${subject.domain}.${subject.service}`;
  const relativeNames = grantSubject(request, commonName, rules);
  refuseDuplicates(request.altNames);
  const { ids, kept, others } = splitInstanceNames(request, subject, rules, grants);
  const instanceId = oneInstanceId(ids, subject);
  for (const name of rules.athenz ? checkHostnameUri(others, grants) : others) {
    checkServiceName(name, subject, rules, grants);
  }
  const id = serviceSpiffeId(rules, subject.domain, subject.service);
  const idName = instanceIdName(rules, { ...subject, instanceId });
  const given = withSpiffeId(kept, id, rules);
  // The profile `athenz` copies the forms in which its clients state the id, and they look for nothing else.
  const isStatedElse = rules.athenz && ids.length > 0 && kept.length === request.altNames.length;
  const altNames = isStatedElse ? given : given.toSpliced(1, 0, { kind: 'dns', value: idName });
  return { commonName, subject: relativeNames, altNames, instanceId };
}

export interface RoleSubject {
  readonly domain: DomainName;
  readonly role: RoleName;
  readonly principal: PrincipalName;
}

function checkRoleUri(name: AltName, subject: RoleSubject, rules: NamingRules): void {
  const id = roleSpiffeId(rules, subject.domain, subject.role);
  if (name.value === id) return;
  const value = name.value.toLowerCase();
  const older = `spiffe://${subject.domain}/ra/${subject.role}`;
  if (rules.athenz && (value === older || value === `athenz://principal/${subject.principal}`)) return;
  refuse(`uri name${quoted(name)} is not \`${id}\``);
}

function checkRoleName(name: AltName, subject: RoleSubject, rules: NamingRules, heldDns: ReadonlySet<string>): void {
  const own = `${subject.principal}@${rules.dnsSuffix}`;
  if (name.kind === 'uri') checkRoleUri(name, subject, rules);
  else if (name.kind === 'email' && name.value !== own) refuse(`email name${quoted(name)} is not \`${own}\``);
  else if (name.kind !== 'email' && !(name.kind === 'dns' && rules.athenz && heldDns.has(name.value))) {
    refuse(`${name.kind} name${quoted(name)} is not for role certificates`);
  }
}

/** The names of a role certificate. Throws `InvalidRequestError` naming the rule. */
export function grantRoleNames(
  request: CertificateRequest,
  subject: RoleSubject,
  rules: NamingRules,
  heldDnsNames: ReadonlySet<string>,
): GrantedNames {
  const commonName = `${subject.domain}:role.${subject.role}`;
  const relativeNames = grantSubject(request, commonName, rules);
  refuseDuplicates(request.altNames);
  for (const name of request.altNames) checkRoleName(name, subject, rules, heldDnsNames);
  const id = roleSpiffeId(rules, subject.domain, subject.role);
  return { commonName, subject: relativeNames, altNames: withSpiffeId(request.altNames, id, rules) };
}
