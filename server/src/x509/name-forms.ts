import type { RelativeName } from './distinguished-name.ts';
import type { AltName } from './subject-alt-names.ts';

/** The id of an instance as a name of a request states it. */
export interface StatedId {
  readonly id: string;
  /** True if the name is one of this server's own, in whose place the certificate gets the instance's. */
  readonly isOwn: boolean;
}

/** Grants to a caller beside its own names, as far as forms of names depend on them. */
export interface FormGrants {
  /** True if the provider of the instance may give DNS names below this suffix (no leading dot). */
  mayUseSuffix(suffix: string): boolean;
  /** Right that a provider lacks for a suffix, for messages; absent where no right gives one. */
  suffixRight?(suffix: string): string;
  /** The host name that the request states, when its provider may vouch for it. */
  readonly hostname?: string | undefined;
  /** Predicate: a name, in lower case, is one by which clients know the token server. */
  readonly isServerHost?: ((name: string) => boolean) | undefined;
}

/** Holder of a role certificate, as far as forms of names depend on it. */
export interface RoleHolder {
  readonly principal: string;
  /** DNS names of the certificate that asks, as they are written there. */
  readonly heldDnsNames: ReadonlySet<string>;
  /** Prefix of the holder's DNS name, with a dot at the end; absent where it has none. */
  readonly dnsStart?: string | undefined;
  /** Address of the request, four or sixteen octets in hexadecimal; absent where other clients share it. */
  readonly address?: string | undefined;
}

/** URI of a request other than the one of the server's certificates, and that one. */
interface RequestedUri {
  readonly value: string;
  readonly expected: string;
}

/**
 * Spellings of a request's names beside the server's own, which both profiles accept. Each profile has its own, chosen once with the
 * configuration.
 */
export interface NameForms {
  /** True if a common name stands for the one that the certificate gets. */
  isCommonName(asked: string, own: string): boolean;
  /** True if an attribute of the subject beside the common name is copied. */
  copies(attribute: RelativeName['attribute']): boolean;
  /** Instance id in a name of another form than the server's own. */
  instanceId(
    name: AltName,
    provider: string,
    context: { readonly suffix: string; readonly grants: FormGrants },
  ): StatedId | undefined;
  /** True if a name is copied that identifies no principal. */
  isLabel(name: AltName): boolean;
  /** True if a DNS name, in lower case, is one of instances alone. */
  isOfInstances(name: string): boolean;
  /** True if a service may hold this DNS name, in lower case; `own` is the prefix of its own. */
  mayHoldDns(name: string, own: string, grants: FormGrants): boolean;
  isServiceUri(uri: RequestedUri, service: { readonly domain: string; readonly service: string }): boolean;
  isRoleUri(
    uri: RequestedUri,
    role: { readonly domain: string; readonly role: string; readonly principal: string },
  ): boolean;
  /** Names that are still to be judged, the host names having been. */
  withoutHostNames(names: readonly AltName[], grants: FormGrants): readonly AltName[];
  /** True if a role certificate may carry a name that is neither a URI nor the holder's mail address below the server's suffix. */
  isRoleName(name: AltName, holder: RoleHolder): boolean;
  /** Suffixes below which a service has `<service>.<domain as one label>` beside those of policy. */
  readonly ownSuffixes: readonly string[];
  /** True if names are copied as they are: nothing is added to the requested ones. */
  readonly copiesNames: boolean;
}

const no = () => false;

/** Profile `signet`: the server's own forms, and no others. */
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
