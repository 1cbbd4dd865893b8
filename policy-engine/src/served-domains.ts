import { PolicyEngineError } from './errors.ts';
import { InvalidNameError, parseDomainName } from './names/index.ts';
import type { Status } from './policy/index.ts';

/**
 * The domains that a service serves, as it says itself. A credential says only where its holder has roles: what a resource without
 * a domain belongs to must come from the service, or the holder would choose it (docs/reference/decisions.md#served-domains).
 */
export class ServedDomains {
  /** Lower case; absent when the service does not say. */
  readonly names: readonly string[] | undefined;
  readonly #set: ReadonlySet<string> | undefined;
  readonly #only: string | undefined;

  /** Throws `PolicyEngineError('invalid-options')` that names `option` for anything but a list of domain names. */
  constructor(domains: unknown, option = 'domains') {
    if (domains === undefined) return;
    this.names = Object.freeze(parseNames(domains, option));
    this.#set = new Set(this.names);
    this.#only = this.#set.size === 1 ? this.names[0] : undefined;
  }

  /** Status that refuses a credential of the domain for the resource; `undefined` when policy is to decide. */
  refusal(domain: string, resource: unknown): Status | undefined {
    if (this.#only === undefined && isUnqualified(resource)) return 'DENY_INVALID_PARAMETERS';
    return this.#set === undefined || this.#set.has(domain) ? undefined : 'DENY_DOMAIN_MISMATCH';
  }

  /** The resource with its domain, or the status that refuses every credential. */
  qualify(resource: string): { readonly resource: string } | { readonly status: Status } {
    if (this.#set === undefined || typeof resource !== 'string') return { resource };
    if (isUnqualified(resource)) {
      return this.#only === undefined
        ? { status: 'DENY_INVALID_PARAMETERS' }
        : { resource: `${this.#only}:${resource}` };
    }
    const domain = domainOf(resource);
    return this.#set.has(domain) ? { resource } : { status: 'DENY_DOMAIN_MISMATCH' };
  }

  /** The domain whose credential the resource needs, where it is known. */
  neededFor(resource: string): string | undefined {
    return isUnqualified(resource) ? this.#only : domainOf(resource);
  }

  /** True if every domain here is one of `others`. */
  isWithin(others: readonly string[]): boolean {
    return this.names?.every((name) => others.includes(name)) ?? true;
  }
}

/** True if a resource has no domain in front. */
export function isUnqualified(resource: unknown): boolean {
  return typeof resource === 'string' && !resource.includes(':');
}

function domainOf(resource: string): string {
  return resource.slice(0, resource.indexOf(':')).toLowerCase();
}

function parseNames(domains: unknown, option: string): string[] {
  if (!Array.isArray(domains) || domains.length === 0) {
    throw new PolicyEngineError('invalid-options', `\`${option}\` must be an array of at least one domain name`);
  }
  return domains.map((name: unknown, index) => {
    try {
      return parseDomainName(name, `\`${option}[${index}]\``);
    } catch (error) {
      if (!(error instanceof InvalidNameError)) throw error;
      throw new PolicyEngineError('invalid-options', error.message);
    }
  });
}
