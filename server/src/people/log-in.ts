import { createHash } from 'node:crypto';
import { epochSeconds } from '@signet/policy-engine/clock';
import { type PrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import type { CompactVerifyGetKey } from 'jose';
import { ForbiddenError, InvalidRequestError, UnauthenticatedError } from '../errors.ts';
import { claimAt, verifiedClaims } from '../instances/attestation/signed-jwt.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { type CertificateRequest, parseCertificateRequest } from '../x509/csr.ts';
import { grantServiceNames } from '../x509/csr-rules.ts';
import { relativeName } from '../x509/distinguished-name.ts';
import { oids } from '../x509/oids.ts';
import { noGrants } from './issue-identity.ts';
import { type IssuedIdentity, type IssueRecordedDeps, issueRecorded } from './issue-recorded.ts';
import { loginNonce } from './login-nonce.ts';
import { type PersonNames, personName } from './person-name.ts';
import { systemRolesOf } from './system-roles.ts';

/** An issuer with which people log in. */
export interface LoginIssuer extends PersonNames {
  /** Audience that the tokens must have. */
  readonly clientId: string;
  readonly keys: CompactVerifyGetKey;
  readonly maxAgeSeconds: number;
  /** Names with roles in `sys.auth` that may log in. */
  readonly administrators: readonly string[];
}

export interface LogInDeps extends IssueRecordedDeps {
  readonly loginIssuers: ReadonlyMap<string, LoginIssuer>;
  readonly loginSeconds: number;
}

interface LoginRequest {
  readonly issuer: string;
  readonly idToken: string;
  readonly csr: string;
  /** Salt of the token's nonce, beside the key. */
  readonly salt: string;
}

/** The common name of the request of a login: who it will be is not known yet. */
const loginCommonName = 'login';

/** Printable ASCII, at most 255 characters (OpenID Connect Core §2). */
const subjectGrammar = /^[!-~]{1,255}$/;

/** A person of whom an ID token was verified. */
interface Person {
  readonly name: PrincipalName;
  readonly subject: string;
  /** Identity of the login, which is valid once. */
  readonly token: { readonly digest: string; readonly expires: number };
}

/**
 * `POST /login`: a short client certificate for a person who shows an ID token that was made for the key of the request. Throws
 * `InvalidRequestError`, `UnauthenticatedError`, `ForbiddenError`, `ServiceUnavailableError`, `StoreUnavailableError`.
 */
export async function logIn(deps: LogInDeps, asked: LoginRequest, requestId: string): Promise<IssuedIdentity> {
  const issuer = deps.loginIssuers.get(asked.issuer);
  if (issuer === undefined) throw new InvalidRequestError('`issuer` is not one with which people log in here');
  const request = plainRequest(parseCertificateRequest(asked.csr));
  const { name, subject, token } = await verifiedPerson(deps, issuer, asked, request);
  const decide = (snapshot: Snapshot) => requireLogin(snapshot, issuer, name, deps.clock.now());
  decide(deps.snapshot());
  const parts = splitPrincipal(name);
  if (parts?.domain !== 'user') throw new ForbiddenError('a login gives names of people only');
  const own = { ...request, commonName: name, subject: [commonNameOf(name)] };
  const order = {
    kind: 'user',
    names: grantServiceNames(own, parts, deps.rules, noGrants),
    subjectKey: request.subjectKey,
    usage: 'client',
    defaultSeconds: deps.loginSeconds,
    maxSeconds: [],
    holder: name,
    askedBy: { names: [name] },
  } as const;
  const details = { login: { issuer: issuer.issuer, subject } };
  return issueRecorded(deps, order, { context: { actor: name, requestId }, token, decide, details });
}

/** Request reduced to its key: it cannot know the name of the person. Throws `InvalidRequestError`. */
function plainRequest(request: CertificateRequest): CertificateRequest {
  const { commonName, subject, altNames } = request;
  if (commonName === loginCommonName && subject.length === 1 && altNames.length === 0) return request;
  throw new InvalidRequestError(`csr of a login must have the common name \`${loginCommonName}\` and no other name`);
}

function commonNameOf(name: PrincipalName): CertificateRequest['subject'][number] {
  return { attribute: 'commonName', value: name, element: relativeName(oids.commonName, name) };
}

async function verifiedPerson(
  { clock }: Pick<LogInDeps, 'clock'>,
  issuer: LoginIssuer,
  { idToken, salt }: LoginRequest,
  { subjectKey }: CertificateRequest,
): Promise<Person> {
  const { claims, end } = await claimsOf(issuer, idToken, epochSeconds(clock));
  const nonce = claimAt(claims, ['nonce']);
  if (typeof nonce !== 'string' || nonce !== loginNonce(salt, subjectKey.spki)) {
    throw new UnauthenticatedError('idToken is a token that was made for another key');
  }
  requireOnlyParty(claims, issuer);
  const subject = claimAt(claims, ['sub']);
  if (typeof subject !== 'string' || !subjectGrammar.test(subject)) {
    throw new UnauthenticatedError('idToken is a token without a usable `sub`');
  }
  const name = personName(claims, subject, issuer);
  // Digest of the login, not of the token's text: one login gives one certificate, whatever tokens the issuer made of it.
  const digest = createHash('sha256')
    .update(JSON.stringify(['login', issuer.issuer, nonce]))
    .digest('base64url');
  return { name, subject, token: { digest, expires: end } };
}

/** Claims of a valid token. An invalid one means that the caller is not authenticated: 401. */
async function claimsOf(issuer: LoginIssuer, idToken: string, now: number) {
  const rules = { issuer: issuer.issuer, audience: issuer.clientId, maxAgeSeconds: issuer.maxAgeSeconds };
  try {
    return await verifiedClaims(idToken, issuer.keys, rules, { now, field: 'idToken' });
  } catch (cause) {
    if (cause instanceof ForbiddenError) throw new UnauthenticatedError(cause.message, { cause: cause.cause ?? cause });
    throw cause;
  }
}

/** OpenID Connect Core §3.1.3.7: a token for several parties, or made for another one, does not count. */
function requireOnlyParty(claims: object, { clientId }: LoginIssuer): void {
  const [audience, party] = [claimAt(claims, ['aud']), claimAt(claims, ['azp'])];
  const isAlone = audience === clientId || (Array.isArray(audience) && audience.length === 1);
  if (isAlone && (party === undefined || party === clientId)) return;
  throw new UnauthenticatedError('idToken is a token for others as well');
}

/** INVARIANT: the issuer alone never makes a person an operator: such names are listed in the configuration. */
function requireLogin(snapshot: Snapshot, issuer: LoginIssuer, name: PrincipalName, now: number): void {
  const [role] = systemRolesOf(snapshot, name, now);
  if (role === undefined || issuer.administrators.includes(name)) return;
  throw new ForbiddenError(
    `\`${name}\` holds \`sys.auth:role.${role}\`: it must be in \`administrators\` of \`people.issuers\` to log in`,
  );
}
