import { parseDomainName } from '@signet/policy-engine/names';
import { parseArguments } from './arguments.ts';
import { SignetClientError } from './errors.ts';
import type { Http } from './http/http.ts';

/** How a bundle is fetched. */
export interface BundleOptions {
  /** Entity tag of the bundle at hand, as it was answered. */
  readonly etag?: string;
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

  /** `GET /domain/{domainName}/policy/signed`, conditional when `etag` is given (RFC 9110 §13.1.2). */
  async fetch(domain: string, options: BundleOptions = {}): Promise<BundleAnswer> {
    const name = parseArguments(() => parseDomainName(domain, 'domain'));
    if (options.etag !== undefined && !isEntityTag(options.etag)) {
      throw new SignetClientError('invalid-argument', 'etag is not an entity tag');
    }
    const answer = await this.#http.send({
      method: 'GET',
      path: ['domain', name, 'policy', 'signed'],
      headers: options.etag === undefined ? {} : { 'if-none-match': options.etag },
      maxResponseBytes: this.#maxBytes,
      signal: options.signal,
    });
    if (answer.status === 304) return { kind: 'unchanged' };
    const etag = answer.headers['etag'];
    return { kind: 'changed', bytes: answer.body, etag: etag !== undefined && isEntityTag(etag) ? etag : undefined };
  }
}

/** RFC 9110 §8.8.3, with a bound on its length. */
function isEntityTag(text: string): boolean {
  return /^(?:W\/)?"[\x21\x23-\x7e]{0,256}"$/.test(text);
}
