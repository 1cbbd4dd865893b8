import { sign } from 'node:crypto';
import { formatTimestamp } from '@signet/policy-engine/clock';
import type { WireAssertion, WirePolicy } from '@signet/policy-engine/wire';
import { ybase64 } from '../base/ybase64.ts';
import { ConflictError, NotFoundError } from '../errors.ts';
import type { SigningKey } from '../keys/sign-token.ts';

/* The older signed form of a domain's policies (facts of `signed_policy_data`), in the part that all of its readers agree on. */

interface OldAssertion {
  readonly action: string;
  readonly effect: string;
  readonly resource: string;
  readonly role: string;
}

interface OldPolicy {
  readonly assertions: readonly OldAssertion[];
  readonly modified: string;
  readonly name: string;
}

/** Answer of `GET /domain/{domainName}/signed_policy_data`. Members in the order that is signed: alphabetical. */
export interface DomainSignedPolicyData {
  readonly keyId: string;
  readonly signature: string;
  readonly signedPolicyData: {
    readonly expires: string;
    readonly modified: string;
    readonly policyData: { readonly domain: string; readonly policies: readonly OldPolicy[] };
    readonly zmsKeyId: string;
    readonly zmsSignature: string;
  };
}

interface OldBundleInput {
  readonly domain: string;
  /** Milliseconds since the epoch, as below. */
  readonly modified: number;
  readonly expires: number;
  /** Active ones. */
  readonly policies: readonly WirePolicy[];
}

/** Readers write these differently, or not at all, into the text that they verify; unprotected, a value could hold the syntax around it. */
const unprotected = /[&<>"\\\p{Cc}\u2028\u2029]/u;

/**
 * Builds and signs the older form. The text that is signed is the JSON itself: members in alphabetical order, no white space. Both
 * signatures (the one of the inner part as well, which some readers insist on) are by the key for bundles. Throws `ConflictError`
 * when the form cannot carry the domain's policies without changing what they mean, `NotFoundError` when there is none to carry.
 */
export function signOldBundle(input: OldBundleInput, key: SigningKey): DomainSignedPolicyData {
  const policies = input.policies.filter(({ assertions }) => assertions.length > 0).map(oldPolicy);
  if (policies.length === 0) throw new NotFoundError(`domain \`${input.domain}\` has no policy with an assertion`);
  const policyData = { domain: input.domain, policies };
  const signedPolicyData = {
    expires: formatTimestamp(input.expires),
    modified: formatTimestamp(input.modified),
    policyData,
    zmsKeyId: key.kid,
    zmsSignature: signText(JSON.stringify(policyData), key),
  };
  return { keyId: key.kid, signature: signText(JSON.stringify(signedPolicyData), key), signedPolicyData };
}

function oldPolicy({ assertions, modified, name, caseSensitive }: WirePolicy): OldPolicy {
  if (caseSensitive === true)
    throw new ConflictError('a policy of the domain is case-sensitive: this form cannot carry it');
  return { assertions: assertions.map(oldAssertion), modified, name };
}

function oldAssertion({
  action,
  effect = 'ALLOW',
  resource,
  role,
  conditions,
  caseSensitive,
}: WireAssertion): OldAssertion {
  if (conditions !== undefined || caseSensitive === true) {
    throw new ConflictError(
      'an assertion of the domain has conditions or is case-sensitive: this form cannot carry it',
    );
  }
  if ([action, resource, role].some((text) => unprotected.test(text))) {
    throw new ConflictError('an assertion of the domain has a character that this form does not protect');
  }
  return { action, effect, resource, role };
}

/** SHA-256 with ECDSA in DER, in Base64 with `.`, `_` and `-` in place of `+`, `/` and `=`. */
function signText(text: string, key: SigningKey): string {
  return ybase64(sign('sha256', Buffer.from(text), key.privateKey));
}
