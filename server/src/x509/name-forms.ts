import type { RelativeName } from './distinguished-name.ts';
import type { AltName } from './subject-alt-names.ts';

/** The id of an instance as a name of a request states it. */
export interface StatedId {
  readonly id: string;
  /** Whether the name is one of this server's own, in whose place the certificate gets the instance's. */
  readonly isOwn: boolean;
}

/** What a caller may hold beside the names that follow from who it is, as far as forms of names ask for it. */
export interface FormGrants {
  /** Whether the provider of the instance may give DNS names below this suffix (no leading dot). */
  mayUseSuffix(suffix: string): boolean;
  /** The host name that the request states, when its provider may vouch for it. */
  readonly hostname?: string | undefined;
  /** Whether a name, in lower case, is one by which clients know the token server. */
  readonly isServerHost?: ((name: string) => boolean) | undefined;
}

/** Who asks for a role certificate, as far as forms of names ask for it. */
export interface RoleHolder {
  readonly principal: string;
  /** DNS names of the certificate that asks, as they are written there. */
  readonly heldDnsNames: ReadonlySet<string>;
  /** How a DNS name of the holder begins, with a dot at the end; absent where it has none. */
  readonly dnsStart?: string | undefined;
  /** Where the request comes from, four or sixteen octets in hexadecimal; absent where others come from there as well. */
  readonly address?: string | undefined;
}

/** A URI of a request beside the one that a certificate of ours has, and that one. */
interface RequestedUri {
  readonly value: string;
  readonly expected: string;
}

/**
 * How the names of a request may be written beside the forms of our own, which both profiles accept. Each profile has its own, chosen once
 * with the configuration.
 */
export interface NameForms {
  /** Whether a common name stands for the one that the certificate gets. */
  isCommonName(asked: string, own: string): boolean;
  /** Whether an attribute of the subject beside the common name is copied. */
  copies(attribute: RelativeName['attribute']): boolean;
  /** The instance id in a name that is not of our own form. */
  instanceId(
    name: AltName,
    provider: string,
    context: { readonly suffix: string; readonly grants: FormGrants },
  ): StatedId | undefined;
  /** Whether a name is copied that names nobody. */
  isLabel(name: AltName): boolean;
  /** Whether a DNS name, in lower case, is one of instances alone. */
  isOfInstances(name: string): boolean;
  /** Whether a service may hold this DNS name, in lower case; `own` is how its own begin. */
  mayHoldDns(name: string, own: string, grants: FormGrants): boolean;
  isServiceUri(uri: RequestedUri, service: { readonly domain: string; readonly service: string }): boolean;
  isRoleUri(
    uri: RequestedUri,
    role: { readonly domain: string; readonly role: string; readonly principal: string },
  ): boolean;
  /** Those of the names that are still to be judged, the others having been. */
  withoutHostNames(names: readonly AltName[], grants: FormGrants): readonly AltName[];
  /** Whether a role certificate may carry a name that is neither a URI nor the holder's mail address below our own suffix. */
  isRoleName(name: AltName, holder: RoleHolder): boolean;
  /** Suffixes below which a service has `<service>.<domain as one label>` beside those of policy. */
  readonly ownSuffixes: readonly string[];
  /** Whether names are copied as they are: nothing is added to those that a request asks for. */
  readonly copiesNames: boolean;
}

const no = () => false;

/** The profile `signet`: the forms of our own, and no others. */
export const signetForms: NameForms = {
  isCommonName: (asked, own) => asked === own,
  copies: no,
  instanceId: () => undefined,
  isLabel: no,
  isOfInstances: no,
  mayHoldDns: no,
  isServiceUri: no,
  isRoleUri: no,
  withoutHostNames: (names) => names,
  isRoleName: no,
  ownSuffixes: [],
  copiesNames: false,
};
