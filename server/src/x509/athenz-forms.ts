import { checkDnsForm, quoted, refuse } from './csr-refusals.ts';
import type { FormGrants, NameForms, RoleHolder, StatedId } from './name-forms.ts';
import { suffixesOf } from './naming.ts';
import type { AltName } from './subject-alt-names.ts';

/* The names that clients of the profile `athenz` ask for (docs/reference/certificates.md#certificate-requests). */

const copiedAttributes: ReadonlySet<string> = new Set([
  'country',
  'stateOrProvince',
  'locality',
  'organization',
  'organizationalUnit',
]);

const idMarker = '.instanceid.';
const idArea = 'athenz.';
const idUri = 'athenz://instanceid/';
const labelUri = 'athenz://instancename/';
const hostUri = 'athenz://hostname/';

/**
 * The profile `athenz`: what its clients write, copied. `suffixes`: below which services have their names, and principals mail addresses,
 * in the forms of its clients.
 */
export function athenzForms(suffixes: readonly string[]): NameForms {
  return {
    isCommonName: (asked, own) => asked.toLowerCase() === own.toLowerCase(),
    copies: (attribute) => copiedAttributes.has(attribute),
    instanceId: (name, provider, { suffix, grants }) =>
      name.kind === 'dns' ? idFromDns(name.value, suffix, grants) : idFromUri(name, provider),
    isLabel: ({ kind, value }) => kind === 'uri' && value.startsWith(labelUri),
    isOfInstances: (name) => name.includes(idMarker),
    mayHoldDns,
    isServiceUri: ({ value, expected }, { domain, service }) =>
      [expected, `spiffe://${domain}/sa/${service}`].includes(value.toLowerCase()),
    isRoleUri: ({ value }, { domain, role, principal }) =>
      [`spiffe://${domain}/ra/${role}`, `athenz://principal/${principal}`].includes(value.toLowerCase()),
    withoutHostNames,
    isRoleName: (name, holder) => isRoleName(name, holder, suffixes),
    ownSuffixes: suffixes,
    copiesNames: true,
  };
}

function isRoleName({ kind, value }: AltName, holder: RoleHolder, suffixes: readonly string[]): boolean {
  const isBelow = (start: string) => suffixes.some((suffix) => value.toLowerCase() === `${start}${suffix}`);
  switch (kind) {
    case 'dns':
      return holder.heldDnsNames.has(value) || (holder.dnsStart !== undefined && isBelow(holder.dnsStart));
    case 'email':
      return isBelow(`${holder.principal}@`);
    case 'ip':
      return value === holder.address;
    default:
      return false;
  }
}

function idFromDns(name: string, ownSuffix: string, grants: FormGrants): StatedId | undefined {
  const at = name.indexOf(idMarker);
  const rest = name.slice(at + idMarker.length);
  if (at <= 0 || !rest.startsWith(idArea)) return undefined;
  const suffix = rest.slice(idArea.length);
  if (suffix !== ownSuffix && !grants.mayUseSuffix(suffix)) return undefined;
  checkDnsForm(name);
  return { id: name.slice(0, at), isOwn: false };
}

function idFromUri({ kind, value }: AltName, provider: string): StatedId | undefined {
  if (kind !== 'uri' || !value.startsWith(idUri)) return undefined;
  const [owner = '', ...rest] = value.slice(idUri.length).split('/');
  if (owner.toLowerCase() !== provider) refuse(`uri name \`${value}\` is of another provider than \`${provider}\``);
  return { id: rest.join('/'), isOwn: false };
}

function mayHoldDns(name: string, own: string, grants: FormGrants): boolean {
  const wild = `*.${own}`;
  if (name.startsWith(wild)) return grants.mayUseSuffix(name.slice(wild.length));
  if (name.startsWith('*') || grants.isServerHost?.(name) === true) return false;
  return suffixesOf(name).some((suffix) => grants.mayUseSuffix(suffix));
}

function withoutHostNames(names: readonly AltName[], { hostname }: FormGrants): readonly AltName[] {
  return names.filter((name) => {
    if (name.kind !== 'uri' || !name.value.startsWith(hostUri)) return true;
    if (name.value !== `${hostUri}${hostname}`) refuse(`uri name${quoted(name)} is not the stated host name`);
    return false;
  });
}
