import { parseDomainName } from '@signet/policy-engine/names';
import { parseArguments } from './arguments.ts';
import { SignetClientError } from './errors.ts';
import type { Http } from './http/http.ts';

/** How a bundle is fetched. */
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

/** What the server said to a request for a bundle: `unchanged` when it still is the one of the entity tag. */
export type BundleAnswer =
  | { readonly kind: 'unchanged' }
  | {
      readonly kind: 'changed';
      /** The bundle (flattened JWS JSON) as served. Nothing of it has been verified. */
      readonly bytes: Uint8Array;
      readonly etag: string | undefined;
    };

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
    if (options.etag !== undefined && !isEntityTag(options.etag)) {
      throw new SignetClientError('invalid-argument', 'etag is not an entity tag');
    }
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
    const etag = answer.headers['etag'];
    return { kind: 'changed', bytes: answer.body, etag: etag !== undefined && isEntityTag(etag) ? etag : undefined };
  }
}

/** As Athenz's own updater asks: all policies in force, the signature as r and s. */
const athenzRequest = { method: 'POST', body: '{"policyVersions":null,"signatureP1363Format":true}' } as const;

/** RFC 9110 §8.8.3, with a bound on its length. */
function isEntityTag(text: string): boolean {
  return /^(?:W\/)?"[\x21\x23-\x7e]{0,256}"$/.test(text);
}
