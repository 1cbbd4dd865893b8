import { decodeJwkList, PolicyEngineError } from '@signet/policy-engine/token';
import type { JwkList } from '@signet/policy-engine/wire';
import { decodeJwk, decodeObject, malformed, stringMember } from './decode.ts';
import type { Http } from './http/http.ts';

/** Answer of the keys endpoint. */
export interface PublishedKeys extends JwkList {
  /** Cache lifetime of the answer, in seconds, if the server stated one (`Cache-Control: max-age`). */
  readonly maxAgeSeconds: number | undefined;
  /** Reasons why keys of the answer cannot be used by a verifier, a line for each; absent when all can. */
  readonly leftOut?: readonly string[];
}

/** Metadata document (RFC 8414 §2). */
export interface Metadata {
  /** The `iss` of every token of this server. */
  readonly issuer: string;
}

/** `GET /oauth2/keys?rfc=true`: the keys that verify tokens and bundles. Keys of unknown kinds are left out. */
export async function fetchKeys(http: Http, signal: AbortSignal | undefined): Promise<PublishedKeys> {
  const answer = await http.send({ method: 'GET', path: ['oauth2', 'keys'], query: { rfc: 'true' }, signal });
  const { keys } = decodeObject(answer.body);
  if (!Array.isArray(keys)) throw malformed('`keys` must be an array');
  const leftOut = oddKeys(keys);
  const maxAge = /(?:^|[\s,])max-age=(\d{1,9})(?:$|[\s,])/i.exec(answer.headers['cache-control'] ?? '')?.[1];
  return {
    keys: keys.map(decodeJwk).filter((key) => key !== undefined),
    maxAgeSeconds: maxAge === undefined ? undefined : Number(maxAge),
    ...(leftOut.length > 0 && { leftOut }),
  };
}

function oddKeys(keys: readonly unknown[]): readonly string[] {
  try {
    return decodeJwkList({ keys }).leftOut;
  } catch (error) {
    throw malformed(error instanceof PolicyEngineError ? error.message : '`keys` cannot be read');
  }
}

/** `GET /.well-known/oauth-authorization-server`. */
export async function fetchMetadata(http: Http, signal: AbortSignal | undefined): Promise<Metadata> {
  const { body } = await http.send({ method: 'GET', path: ['.well-known', 'oauth-authorization-server'], signal });
  return { issuer: stringMember(decodeObject(body), 'issuer') };
}
