/** The closed list of answers of the engine (docs/reference/decisions.md#statuses), in the order of the documents. */
export const statuses = [
  'ALLOW',
  'DENY',
  'DENY_NO_MATCH',
  'DENY_INVALID_PARAMETERS',
  'DENY_TOKEN_INVALID',
  'DENY_TOKEN_EXPIRED',
  'DENY_DOMAIN_MISMATCH',
  'DENY_DOMAIN_NOT_FOUND',
  'DENY_DOMAIN_EMPTY',
  'DENY_DOMAIN_EXPIRED',
  'DENY_CERT_HASH_MISMATCH',
  'DENY_CERT_MISMATCH_ISSUER',
  'DENY_CERT_MISSING_SUBJECT',
  'DENY_CERT_MISSING_DOMAIN',
  'DENY_CERT_MISSING_ROLE_NAME',
  'DENY_BUDGET_EXCEEDED',
] as const;

/** Result of a decision. Only `ALLOW` grants. */
export type Status = (typeof statuses)[number];

const meanings: Readonly<Record<Status, string>> = {
  ALLOW: 'an assertion allows the action and none denies it',
  DENY: 'an assertion denies the action',
  DENY_NO_MATCH: 'no assertion of the domain fits the roles, the action and the resource',
  DENY_INVALID_PARAMETERS:
    'the action or the resource is missing, too long or not a string, or the resource names no domain',
  DENY_TOKEN_INVALID: 'the token is malformed, not signed by a trusted key, or names no domain or no role',
  DENY_TOKEN_EXPIRED: 'the token is past its expiry',
  DENY_DOMAIN_MISMATCH: 'the token is of another domain than the resource, or of one that is not served',
  DENY_DOMAIN_NOT_FOUND: 'there is no policy for the domain of the token',
  DENY_DOMAIN_EMPTY: 'the policy of the domain holds no assertion',
  DENY_DOMAIN_EXPIRED: 'the policy of the domain is past its expiry',
  DENY_CERT_HASH_MISMATCH: 'the token is not bound to the certificate of the connection',
  DENY_CERT_MISMATCH_ISSUER: 'the role certificate was issued by somebody who is not accepted',
  DENY_CERT_MISSING_SUBJECT: 'the role certificate has no common name',
  DENY_CERT_MISSING_DOMAIN: 'the common name of the role certificate has no domain',
  DENY_CERT_MISSING_ROLE_NAME: 'the common name of the role certificate has no role',
  DENY_BUDGET_EXCEEDED:
    'the policy takes more work than one decision may cost: its patterns are too many or too entangled',
};

/** Meaning of a status in one plain sentence, for a log or an operator. */
export function statusMeaning(status: Status): string {
  return meanings[status];
}

/** Meaning of `DENY_CERT_HASH_MISMATCH` for a request without any certificate. */
export const withoutCertificate = 'the request came without a client certificate';

const remedies: Readonly<Record<Status, string>> = {
  ALLOW: 'serve the request',
  DENY: 'refuse; if that is wrong, take the assertion that `explain` names out of the policy',
  DENY_NO_MATCH: 'refuse; `explain` names the role or assertion that is missing',
  DENY_INVALID_PARAMETERS:
    'fix the code that calls the engine; a resource without a domain needs exactly one in `domains`',
  DENY_TOKEN_INVALID:
    'refuse; the `token.fault` of `explain` says what is wrong. When all tokens fail, look at `health()` and at `issuers`',
  DENY_TOKEN_EXPIRED: 'refuse; the caller gets a new one. If it has one, look at the clocks',
  DENY_DOMAIN_MISMATCH: "refuse; the caller needs a token of the resource's domain, which must be one of `domains`",
  DENY_DOMAIN_NOT_FOUND: 'add the domain to those that the updater of this host fetches',
  DENY_DOMAIN_EMPTY: 'write policy for the domain',
  DENY_DOMAIN_EXPIRED: 'see why the updater gets no new bundle',
  DENY_CERT_HASH_MISMATCH:
    'refuse; the caller must connect with the certificate of its token. If it does, pass `certificate`; behind a proxy see `proxies`',
  DENY_CERT_MISMATCH_ISSUER: 'refuse, or add the authority to `authorities` of the request',
  DENY_CERT_MISSING_SUBJECT: 'refuse; it is not a role certificate',
  DENY_CERT_MISSING_DOMAIN: 'refuse; it is not a role certificate',
  DENY_CERT_MISSING_ROLE_NAME: 'refuse; it is not a role certificate',
  DENY_BUDGET_EXCEEDED: 'refuse, and simplify the policy; `health()` counts them',
};

/** Remedy for a status, for a developer or an operator, in one sentence. */
export function statusRemedy(status: Status): string {
  return remedies[status];
}
