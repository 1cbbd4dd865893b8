import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import { pauseBetweenSlices } from '@signet/policy-engine/internal/slices';
import type { ActionName, DomainName, PathElement, PrincipalName } from '@signet/policy-engine/names';
import { authorityAction } from '../access/authority.ts';
import { checksOf } from '../access/check-access.ts';
import { type AskersCertificate, type DecideAgainDeps, decidedAgain } from '../access/recording-conditions.ts';
import { ForbiddenError, InvalidRequestError, NotFoundError } from '../errors.ts';
import type { RecordingConditions } from '../model/certificate-store.ts';
import { heldUntil } from '../roles/held-until.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { CertificateLog, SshCertificateRecord } from './certificate-log.ts';
import { checkIssuedSshCertificate } from './inspect-ssh.ts';
import { formatSshCertificate, nonceLength, signSshCertificate } from './sign-certificate.ts';
import type { SshAuthority } from './ssh-authority.ts';
import type { SshCertRequest } from './ssh-csr.ts';
import { loginAction, parseHostName, parseLogin, type SshLogin } from './ssh-names.ts';
import { hostKeyId, hostProfile, type SshProfile, type SshRules, userKeyId, userProfile } from './ssh-profile.ts';
import { formatSshPublicKey } from './ssh-public-key.ts';

export interface IssueSshDeps extends DecideAgainDeps {
  readonly clock: Clock;
  /** Configured authorities; a request for the other kind is answered with `NotFoundError`. */
  readonly authorities: { readonly host?: SshAuthority | undefined; readonly user?: SshAuthority | undefined };
  readonly rules: SshRules;
  /** Domain whose policy grants logins that name no domain. */
  readonly loginDomain: DomainName;
  readonly log: CertificateLog;
  readonly randomBytes: (length: number) => Buffer;
}

/** The X.509 certificate on whose word an SSH certificate is given: one that is revoked meanwhile gives nothing. */
export interface AskingCertificate extends AskersCertificate {
  /** Seconds since the epoch: nothing that is given on its word outlives it. */
  readonly notAfter: number;
}

/** User who requests a login. */
interface SshUser {
  readonly principal: PrincipalName;
  readonly asking: AskingCertificate;
  /** Called with the cost of decisions, in units of `maxWork` of the engine. */
  readonly compared?: ((work: number) => void) | undefined;
}

/** A host that asks for its certificate: the identity it has shown and the names that were found to be its own. */
export interface SshHost {
  readonly service: PrincipalName;
  readonly provider?: PrincipalName | undefined;
  readonly instanceId?: PathElement | undefined;
  readonly asking: AskingCertificate;
  /** The names of this host as a snapshot of the store says it; throws when it may have no certificate. */
  readonly namesAt: (snapshot: Snapshot) => readonly string[];
  /** Conditions that must still hold when the certificate is recorded. */
  readonly stillAllowed?: (() => Promise<unknown>) | undefined;
  /** A life in seconds that the certificate must not exceed. */
  readonly maxSeconds?: number | undefined;
}

interface IssuedSshCertificate {
  readonly serial: bigint;
  readonly keyId: string;
  /** The line of a `-cert.pub` file. */
  readonly certificate: string;
  /** The public key of the authority, as `known_hosts` and `TrustedUserCAKeys` hold it. */
  readonly signer: string;
}

const action: ActionName = authorityAction(loginAction);

/**
 * A certificate with which the caller logs in. Every principal asked for must be granted, `ssh_login` on `<domain>:ssh.<login>`; one
 * that is not refuses the request as a whole. Throws `InvalidRequestError`, `UnknownDomainError`, `ForbiddenError`, `NotFoundError`.
 */
export async function issueUserCertificate(
  deps: IssueSshDeps,
  user: SshUser,
  request: SshCertRequest,
): Promise<IssuedSshCertificate> {
  const { principal: caller, asking } = user;
  const authority = configured(deps.authorities.user, 'user');
  expectKind(request, 'user');
  const logins = request.principals.map((principal) => parseLogin(principal, deps.loginDomain));
  expectRequestor(request, caller);
  const now = epochSeconds(deps.clock);
  const times = { start: now, latest: Math.min(now + deps.rules.userExpirySeconds, asking.notAfter) };
  const subject = {
    keyId: userKeyId(caller),
    principals: logins.map((login) => login.principal),
    serial: randomSerial(deps.randomBytes),
    notAfter: await loginsUntil(deps.snapshot(), user, logins, times),
  };
  const profile = userProfile(subject, deps.rules, now);
  const whose = { owner: caller, provider: undefined, instanceId: undefined, askingSerial: asking.serial };
  const conditions = decidedAgain(deps, { principal: caller, certificate: asking }, (snapshot) =>
    loginsUntil(snapshot, user, logins, { start: profile.validBefore - 1, latest: profile.validBefore }),
  );
  return issue(deps, authority, { profile, request, whose, conditions });
}

/**
 * The end, in seconds and up to `latest`, of the caller's rights to all logins, by the memberships that give them. Throws `ForbiddenError` for
 * a login that is not granted until the second after `start`.
 */
async function loginsUntil(
  snapshot: Snapshot,
  { principal: caller, compared }: SshUser,
  logins: readonly SshLogin[],
  { start, latest }: { readonly start: number; readonly latest: number },
): Promise<number> {
  const checks = new Map<number, ReturnType<typeof checksOf>>();
  const pause = pauseBetweenSlices();
  let end = latest;
  for (const { principal, resource } of logins) {
    await pause();
    const isGranted = (now: number) => {
      const check = checks.get(now) ?? checksOf(snapshot, caller, now);
      checks.set(now, check);
      const { granted, work } = check({ action, resource });
      compared?.(work);
      return granted;
    };
    end = heldUntil(isGranted, start, end);
    if (end > start) continue;
    throw new ForbiddenError(`principal may not log in as \`${principal}\``, { detail: { caller, resource } });
  }
  return end;
}

/**
 * A certificate by which a host is known. Every principal asked for must be one of its names; one that is not refuses the request
 * as a whole. Throws `InvalidRequestError`, `ForbiddenError`, `NotFoundError`.
 */
export async function issueHostCertificate(
  deps: IssueSshDeps,
  host: SshHost,
  request: SshCertRequest,
): Promise<IssuedSshCertificate> {
  const authority = configured(deps.authorities.host, 'host');
  expectKind(request, 'host');
  const principals = request.principals.map(parseHostName);
  expectRequestor(request, host.service);
  expectHost(request, host);
  requireHostNames(host, deps.snapshot(), principals);
  const subject = {
    keyId: hostKeyId(host.service, host.instanceId),
    principals,
    serial: randomSerial(deps.randomBytes),
    maxSeconds: host.maxSeconds,
    notAfter: host.asking.notAfter,
  };
  const profile = hostProfile(subject, deps.rules, epochSeconds(deps.clock));
  const { service: owner, provider, instanceId } = host;
  const whose = { owner, provider, instanceId, askingSerial: host.asking.serial };
  const rights = decidedAgain(deps, { principal: host.service, certificate: host.asking }, (snapshot) =>
    requireHostNames(host, snapshot, principals),
  );
  const decide: RecordingConditions['decide'] = async (source) => {
    await rights.decide(source);
    await host.stillAllowed?.();
  };
  return issue(deps, authority, { profile, request, whose, conditions: { ...rights, decide } });
}

function requireHostNames(host: SshHost, snapshot: Snapshot, principals: readonly string[]): void {
  const held = new Set(host.namesAt(snapshot).map((name) => name.toLowerCase()));
  const foreign = principals.find((name) => !held.has(name));
  if (foreign !== undefined) throw new ForbiddenError(`host name \`${foreign}\` is not the caller's`);
}

/** 64 random bits that are not all zero. */
export function randomSerial(randomBytes: (length: number) => Buffer): bigint {
  const serial = randomBytes(8).readBigUInt64BE();
  return serial === 0n ? randomSerial(randomBytes) : serial;
}

/** A certificate that was granted. */
interface SshGrant {
  readonly profile: SshProfile;
  readonly request: SshCertRequest;
  readonly whose: Pick<SshCertificateRecord, 'owner' | 'provider' | 'instanceId' | 'askingSerial'>;
  readonly conditions: RecordingConditions;
}

async function issue(
  deps: IssueSshDeps,
  authority: SshAuthority,
  { profile, request, whose, conditions }: SshGrant,
): Promise<IssuedSshCertificate> {
  const { kind, serial, keyId, principals, validAfter, validBefore } = profile;
  const keys = { subjectKey: request.publicKey.fingerprint, authorityKey: authority.publicKey.fingerprint };
  // INVARIANT: recorded before it is signed, so that what may exist can be revoked.
  await deps.log.intend({ kind, serial, keyId, principals, validAfter, validBefore, ...keys, ...whose });
  const blob = signSshCertificate(profile, request.publicKey, authority, deps.randomBytes(nonceLength));
  checkIssuedSshCertificate(blob, profile, request.publicKey, authority);
  // INVARIANT: the right is asked again in the transaction that records it, so that none is handed out after it was removed.
  await deps.log.issued(serial, blob, conditions);
  const certificate = formatSshCertificate(blob, request.publicKey.type, keyId);
  return { serial, keyId, certificate, signer: formatSshPublicKey(authority.publicKey) };
}

function configured(authority: SshAuthority | undefined, kind: 'user' | 'host'): SshAuthority {
  if (authority === undefined) throw new NotFoundError(`this server issues no SSH ${kind} certificates`);
  return authority;
}

function expectKind(request: SshCertRequest, kind: 'user' | 'host'): void {
  if (request.kind !== kind) throw new InvalidRequestError(`certRequestMeta.certType must be \`${kind}\` here`);
}

function expectRequestor(request: SshCertRequest, caller: PrincipalName): void {
  if (request.requestor !== caller) throw new ForbiddenError('certRequestMeta.requestor is not the caller');
}

function expectHost(request: SshCertRequest, host: SshHost): void {
  if (request.service !== undefined && request.service !== host.service) {
    throw new ForbiddenError('certRequestMeta.athenzService is not the caller');
  }
  if (request.instanceId !== undefined && request.instanceId !== host.instanceId) {
    throw new ForbiddenError('certRequestMeta.instanceId is not the instance of the caller');
  }
}
