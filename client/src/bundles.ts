import { type DomainName, parseDomainName } from '@signet/policy-engine/names';
import { parseArguments } from './arguments.ts';
import { SignetClientError } from './client-errors.ts';
import { booleanMember, decodeObject, malformed, stringMember, stringsMember } from './decode.ts';
import type { Http } from './http/http.ts';

/** Options for fetching a bundle. */
export interface BundleOptions {
  /** Entity tag of the bundle at hand, as it was answered. */
  readonly etag?: string;
  /**
   * `athenz`: the form with a second header, which Athenz's engines read, and the only one that a genuine Athenz server has (by `POST`).
   * Default `rfc7515`.
   */
  readonly form?: 'rfc7515' | 'athenz';
  readonly signal?: AbortSignal;
}

/** Answer to a request for a bundle: `unchanged` if it still is the one of the entity tag. */
export type BundleAnswer =
  | { readonly kind: 'unchanged' }
  | {
      readonly kind: 'changed';
      /** The bundle (flattened JWS JSON) as served. Nothing of it has been verified. */
      readonly bytes: Uint8Array;
      readonly etag: string | undefined;
    };

/** Domains that name the caller as a reader of their bundles: `unchanged` if they still are those of the entity tag. */
export type BundleDomainsAnswer =
  | { readonly kind: 'unchanged' }
  | {
      readonly kind: 'changed';
      /** Caller's name at the server. */
      readonly reader: string;
      /** Each once. */
      readonly domains: readonly DomainName[];
      /** True if the list is complete. */
      readonly complete: boolean;
      readonly etag: string | undefined;
    };

/** Maximum of domains in an answer of a Signet server. */
const maxDomains = 10_000;

/** Maximum size of the list in bytes: as many names as a server sends, each of maximum length. */
const domainsBytes = 4 << 20;

/** Signed policy of domains. */
export class Bundles {
  readonly #http: Http;
  readonly #maxBytes: number;

  constructor(http: Http, maxBytes: number) {
    this.#http = http;
    this.#maxBytes = maxBytes;
  }

  /** `GET` (or, for the form `athenz`, `POST`) `/domain/{domainName}/policy/signed`, conditional when `etag` is given (RFC 9110 §13.1.2). */
  async fetch(domain: string, options: BundleOptions = {}): Promise<BundleAnswer> {
    const name = parseArguments(() => parseDomainName(domain, 'domain'));
    requireEntityTag(options.etag);
    const { form = 'rfc7515' } = options;
    if (form !== 'rfc7515' && form !== 'athenz') throw new SignetClientError('invalid-argument', 'form is not a form');
    const answer = await this.#http.send({
      ...(form === 'athenz' ? athenzRequest : { method: 'GET' }),
      path: ['domain', name, 'policy', 'signed'],
      headers: {
        ...(form === 'athenz' && { 'content-type': 'application/json' }),
        ...(options.etag !== undefined && { 'if-none-match': options.etag }),
      },
      maxResponseBytes: this.#maxBytes,
      signal: options.signal,
    });
    if (answer.status === 304) return { kind: 'unchanged' };
    return { kind: 'changed', bytes: answer.body, etag: entityTagOf(answer.headers) };
  }

  /** `GET /bundle-domains`, conditional when `etag` is given. Every name is parsed; an answer with a malformed one is rejected. */
  async domains(options: Pick<BundleOptions, 'etag' | 'signal'> = {}): Promise<BundleDomainsAnswer> {
    requireEntityTag(options.etag);
    const answer = await this.#http.send({
      method: 'GET',
      path: ['bundle-domains'],
      headers: { ...(options.etag !== undefined && { 'if-none-match': options.etag }) },
      maxResponseBytes: domainsBytes,
      signal: options.signal,
    });
    if (answer.status === 304) return { kind: 'unchanged' };
    const body = decodeObject(answer.body);
    const [reader, complete] = [stringMember(body, 'reader'), booleanMember(body, 'complete')];
    const domains = decodeDomains(stringsMember(body, 'domains'));
    return { kind: 'changed', reader, domains, complete, etag: entityTagOf(answer.headers) };
  }
}

function decodeDomains(texts: readonly string[]): readonly DomainName[] {
  if (texts.length > maxDomains) throw malformed(`\`domains\` must have at most ${maxDomains} names`);
  try {
    return [...new Set(texts.map((text) => parseDomainName(text)))];
  } catch {
    throw malformed('`domains` must hold names of domains');
  }
}

function requireEntityTag(etag: string | undefined): void {
  if (etag === undefined || isEntityTag(etag)) return;
  throw new SignetClientError('invalid-argument', 'etag is not an entity tag');
}

/** The entity tag of an answer, when it has one that can be sent back. */
function entityTagOf({ etag }: Readonly<Record<string, string | undefined>>): string | undefined {
  return etag !== undefined && isEntityTag(etag) ? etag : undefined;
}

/** Request of Athenz's own updater: all policies in force, the signature as r and s. */
const athenzRequest = { method: 'POST', body: '{"policyVersions":null,"signatureP1363Format":true}' } as const;

/** RFC 9110 §8.8.3, with a bound on its length. */
function isEntityTag(text: string): boolean {
  return /^(?:W\/)?"[\x21\x23-\x7e]{0,256}"$/.test(text);
}
