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
import { type IssuedAltName, maxCommonNameLength } from './certificate-profile.ts';
import type { CertificateRequest } from './csr.ts';
import { checkDnsForm, quoted, refuse } from './csr-refusals.ts';
import { relativeName } from './distinguished-name.ts';
import { missingSuffixRight } from './missing-suffix.ts';
import type { FormGrants, RoleHolder, StatedId } from './name-forms.ts';
import {
  beforeSuffix,
  instanceIdName,
  isInstanceArea,
  isInstanceName,
  type NamingRules,
  roleSpiffeId,
  serviceSpiffeId,
} from './naming.ts';
import { oids } from './oids.ts';
import { type AltName, addressText } from './subject-alt-names.ts';

/*
 * Names that a request may ask for, in one place (docs/reference/certificates.md#certificate-requests). A name that the caller may not hold is
 * refused with the rule that forbids it; the names that every certificate of a kind has (its SPIFFE id, an instance's id) may be left out of the
 * request.
 */

/** The names that go into a certificate. */
export interface GrantedNames {
  readonly commonName: string;
  readonly subject: readonly Uint8Array[];
  readonly altNames: readonly IssuedAltName[];
}

function grantSubject(request: CertificateRequest, commonName: string, rules: NamingRules): readonly Uint8Array[] {
  if (commonName.length > maxCommonNameLength) {
    refuse(`common name would have more than ${maxCommonNameLength} characters: \`${commonName}\``);
  }
  if (!rules.forms.isCommonName(request.commonName, commonName)) refuse(`common name must be \`${commonName}\``);
  const seen = new Set<string>();
  return request.subject.map(({ attribute, element }) => {
    if (attribute === 'commonName') return relativeName(oids.commonName, commonName);
    if (!rules.forms.copies(attribute)) refuse('subject may hold only the common name');
    if (seen.has(attribute)) refuse('subject may hold each attribute once');
    seen.add(attribute);
    return element;
  });
}

function refuseDuplicates(names: readonly AltName[]): void {
  const isSame = (one: AltName, other: AltName) => one.kind === other.kind && one.value === other.value;
  const twice = names.find((name, at) => names.findIndex((other) => isSame(name, other)) < at);
  if (twice !== undefined) refuse(`asks for the ${twice.kind} name \`${twice.value}\` twice`);
}

/** Grants to the caller beside its own names. */
export interface ServiceGrants extends FormGrants {
  /** The caller's address, four or sixteen octets in hexadecimal. */
  readonly address?: string | undefined;
  /** The rule by which that address is not given; undefined when it may be. */
  addressFault(address: string): string | undefined;
  /** The domain as one DNS label; undefined where another domain has it, and then no service of this one has a DNS name. */
  readonly dnsForm: string | undefined;
  /** True if the names of a service below the suffixes of the profile need no right. */
  readonly mayUseOwnSuffixes?: boolean | undefined;
  /** DNS names that the presented certificate holds. */
  readonly heldDnsNames?: ReadonlySet<string> | undefined;
}

interface ServiceSubject {
  readonly domain: DomainName;
  readonly service: ServiceName;
}

interface InstanceSubject extends ServiceSubject {
  readonly provider: string;
  /** Id from the path of a refresh, or from a field of the body; the request's own must agree with it. */
  readonly instanceId?: PathElement | undefined;
}

/*
 * Id in a name below the server's own suffix: the name of this very instance, or the id before `.instanceid.`, as it was requested before names
 * carried their owner. The certificate gets the instance's own name in the place of either.
 */
function idFromOwnName(
  name: string,
  before: string,
  subject: InstanceSubject,
  rules: NamingRules,
): StatedId | undefined {
  const area = '.instanceid';
  if (!before.endsWith(area)) return undefined;
  const text = before.slice(0, -area.length);
  const known = subject.instanceId;
  if (known !== undefined) {
    const isKnown = text === known || isInstanceName(rules, { ...subject, instanceId: known }, name);
    return { id: isKnown ? known : text, isOwn: true };
  }
  const [first = ''] = text.split('.');
  if (first.startsWith(hashedLabelPrefix)) refuse('holds the hash of an instance id: state it in `x509CertInstanceId`');
  const isReadable = isInstanceName(rules, { ...subject, instanceId: first }, name);
  return { id: isReadable ? first : text, isOwn: true };
}

/** The instance id that a name carries, if it is one of an instance. */
function statedId(
  name: AltName,
  subject: InstanceSubject,
  rules: NamingRules,
  grants: ServiceGrants,
): StatedId | undefined {
  const before = name.kind === 'dns' ? beforeSuffix(name.value, rules.dnsSuffix) : undefined;
  const own = before === undefined ? undefined : idFromOwnName(name.value, before, subject, rules);
  return own ?? rules.forms.instanceId(name, subject.provider, { suffix: rules.dnsSuffix, grants });
}

/* True for the service's own names below the server's own suffix: any other name there could be one of another service. */
function mayHoldOwnName(before: string, subject: ServiceSubject, rules: NamingRules, grants: ServiceGrants): boolean {
  if (before === `${subject.service}.${subject.domain}`) return true;
  return before === `${subject.service}.${grants.dnsForm}` && grants.mayUseSuffix(rules.dnsSuffix);
}

function mayHoldDns(asked: string, subject: ServiceSubject, rules: NamingRules, grants: ServiceGrants): boolean {
  // INVARIANT: DNS is case-insensitive: in capitals it is the same name, and may be another principal's as well.
  const name = asked.toLowerCase();
  if (isInstanceArea(name, rules) || rules.forms.isOfInstances(name)) return false;
  if (grants.heldDnsNames?.has(asked) === true || name === grants.hostname) return true;
  if (grants.dnsForm === undefined) return false;
  const own = `${subject.service}.${grants.dnsForm}.`;
  if (grants.mayUseOwnSuffixes === true && rules.forms.ownSuffixes.some((suffix) => name === `${own}${suffix}`)) {
    return true;
  }
  const before = beforeSuffix(name, rules.dnsSuffix);
  if (before !== undefined) return mayHoldOwnName(before, subject, rules, grants);
  if (name.startsWith(own)) return grants.mayUseSuffix(name.slice(own.length));
  return rules.forms.mayHoldDns(name, own, grants);
}

function mayHold(name: AltName, subject: ServiceSubject, rules: NamingRules, grants: ServiceGrants): boolean {
  const stated = 'provider' in subject && statedId(name, subject as InstanceSubject, rules, grants);
  return (stated !== false && stated !== undefined) || mayHoldDns(name.value, subject, rules, grants);
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
  if (rules.forms.isServiceUri({ value: name.value, expected }, subject)) return;
  refuse(`uri name${quoted(name)} is not \`${expected}\``);
}

function checkServiceName(name: AltName, subject: ServiceSubject, rules: NamingRules, grants: ServiceGrants): void {
  switch (name.kind) {
    case 'uri':
      checkServiceUri(name, subject, rules);
      break;
    case 'dns':
      // `localhost` is the only host name of a single label (RFC 6761 §6.3), for callers who may hold it.
      if (name.value !== 'localhost' || grants.hostname !== 'localhost') checkDnsForm(name.value);
      if (!mayHoldDns(name.value, subject, rules, grants)) {
        const right = missingSuffixRight(grants, (more) => mayHold(name, subject, rules, more));
        refuse(`dns name${quoted(name)} is not one that \`${subject.domain}.${subject.service}\` may hold${right}`);
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
  return rules.forms.copiesNames || given.some(isSpiffe) ? given : [{ kind: 'uri', value: id }, ...given];
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
  /** Requested names that go into the certificate: without those that its own one stands for. */
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
    const stated = statedId(name, subject, rules, grants);
    if (stated !== undefined) ids.push(stated.id);
    else if (!rules.forms.isLabel(name)) others.push(name);
    if (stated?.isOwn !== true) kept.push(name);
  }
  return { ids, kept, others };
}

/** Right for the first name that would then state an id. */
function rightForId(
  names: readonly AltName[],
  subject: InstanceSubject,
  rules: NamingRules,
  grants: ServiceGrants,
): string {
  const rights = names.map((name) =>
    missingSuffixRight(grants, (more) => statedId(name, subject, rules, more) !== undefined),
  );
  return rights.find((right) => right !== '') ?? '';
}

function oneInstanceId(ids: readonly string[], subject: InstanceSubject, missingRight: () => string): PathElement {
  const [first = subject.instanceId] = ids;
  if (first === undefined) refuse(`must carry the instance id, or \`x509CertInstanceId\` state it${missingRight()}`);
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
    if (cause instanceof InvalidNameError) return refuse(cause.message);
    throw cause;
  }
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
  const instanceId = oneInstanceId(ids, subject, () => rightForId(others, subject, rules, grants));
  for (const name of rules.forms.withoutHostNames(others, grants)) {
    checkServiceName(name, subject, rules, grants);
  }
  const id = serviceSpiffeId(rules, subject.domain, subject.service);
  const idName = instanceIdName(rules, { ...subject, instanceId });
  const given = withSpiffeId(kept, id, rules);
  // The profile `athenz` copies the forms in which its clients state the id, and they look for nothing else.
  const isStatedElse = rules.forms.copiesNames && ids.length > 0 && kept.length === request.altNames.length;
  const altNames = isStatedElse ? given : given.toSpliced(1, 0, { kind: 'dns', value: idName });
  return { commonName, subject: relativeNames, altNames, instanceId };
}

interface RoleSubject {
  readonly domain: DomainName;
  readonly role: RoleName;
  readonly principal: PrincipalName;
}

function checkRoleUri(name: AltName, subject: RoleSubject, rules: NamingRules): void {
  const id = roleSpiffeId(rules, subject.domain, subject.role);
  if (name.value === id) return;
  if (rules.forms.isRoleUri({ value: name.value, expected: id }, subject)) return;
  refuse(`uri name${quoted(name)} is not \`${id}\``);
}

function checkRoleName(name: AltName, subject: RoleSubject, rules: NamingRules, holder: RoleHolder): void {
  if (name.kind === 'uri') {
    checkRoleUri(name, subject, rules);
    return;
  }
  const own = `${subject.principal}@${rules.dnsSuffix}`;
  const isOwn = name.kind === 'email' && name.value === own;
  if (isOwn || rules.forms.isRoleName(name, holder)) return;
  if (name.kind === 'email') refuse(`email name${quoted(name)} is not \`${own}\``);
  refuse(`${name.kind} name${quoted(name)} is not for role certificates`);
}

/** The names of a role certificate. Throws `InvalidRequestError` naming the rule. */
export function grantRoleNames(
  request: CertificateRequest,
  subject: RoleSubject,
  rules: NamingRules,
  holder: Omit<RoleHolder, 'principal'>,
): GrantedNames {
  const commonName = `${subject.domain}:role.${subject.role}`;
  const relativeNames = grantSubject(request, commonName, rules);
  refuseDuplicates(request.altNames);
  const { principal } = subject;
  for (const name of request.altNames) checkRoleName(name, subject, rules, { principal, ...holder });
  const id = roleSpiffeId(rules, subject.domain, subject.role);
  return { commonName, subject: relativeNames, altNames: withSpiffeId(request.altNames, id, rules) };
}
