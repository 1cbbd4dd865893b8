import type { PathElement, PrincipalName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../errors.ts';

/** The extensions of user certificates that OpenSSH defines; each one permits something. */
export const sshExtensions = [
  'permit-X11-forwarding',
  'permit-agent-forwarding',
  'permit-port-forwarding',
  'permit-pty',
  'permit-user-rc',
] as const;
type SshExtension = (typeof sshExtensions)[number];

/** Operator's rules for SSH certificates. Callers have no influence on them. */
export interface SshRules {
  /** Life of a host certificate in seconds. */
  readonly hostExpirySeconds: number;
  /** Life of a user certificate in seconds. */
  readonly userExpirySeconds: number;
  readonly extensions: readonly SshExtension[];
  /** Critical option `source-address`: networks from which user certificates are accepted; empty: from anywhere. */
  readonly sourceAddresses: readonly string[];
  /** Critical option `force-command`: runs instead of what the user asks for. */
  readonly forceCommand?: string | undefined;
}

export type SshCertificateKind = 'user' | 'host';

/** Policy-determined content of an SSH certificate. The key that it certifies and the authority come beside it. */
export interface SshProfile {
  readonly kind: SshCertificateKind;
  /** 64 bits, never 0: zero means "not numbered" and cannot be revoked. */
  readonly serial: bigint;
  /** Key id: the holder's name; sshd writes it to its log, and a KRL can revoke by it. */
  readonly keyId: string;
  /** INVARIANT: never empty, since a certificate without principals is valid for every login and every host. */
  readonly principals: readonly [string, ...string[]];
  /** Seconds since the epoch; valid from `validAfter` until just before `validBefore`. */
  readonly validAfter: number;
  readonly validBefore: number;
  /** Name and text, in the order of the names. */
  readonly criticalOptions: readonly (readonly [name: string, value: string])[];
  /** Extensions in order. */
  readonly extensions: readonly SshExtension[];
}

/** Lead of a certificate's start over its issue, for clocks that are behind. */
const sshBackdateSeconds = 300;

/** Maximum life, whatever is configured. */
export const maxHostLifetimeSeconds = 90 * 86_400;
export const maxUserLifetimeSeconds = 7 * 86_400;

/** Maximum of principals. OpenSSH reads at most 256. */
export const maxPrincipals = 64;

/** The key id of a user certificate. */
export function userKeyId(principal: PrincipalName): string {
  return `user:${principal}`;
}

/** The key id of a host certificate; all certificates of an instance share it, so that one line of a KRL revokes them. */
export function hostKeyId(service: PrincipalName, instanceId: PathElement | undefined): string {
  return instanceId === undefined ? `host:${service}` : `host:${service}:${instanceId}`;
}

export interface SshSubject {
  readonly keyId: string;
  /** Principals that the caller was found to hold. */
  readonly principals: readonly string[];
  readonly serial: bigint;
  /** A life in seconds that this certificate must not exceed, e.g. what the provider of an instance said. */
  readonly maxSeconds?: number | undefined;
  /** The end of the X.509 certificate on whose word it is given, in seconds since the epoch: it never outlives that one. */
  readonly notAfter: number;
}

/** A certificate for a login: options and extensions as configured. `now` in seconds. Throws `InvalidRequestError`. */
export function userProfile(subject: SshSubject, rules: SshRules, now: number): SshProfile {
  const options: (readonly [string, string])[] = [];
  if (rules.forceCommand !== undefined) options.push(['force-command', rules.forceCommand]);
  if (rules.sourceAddresses.length > 0) options.push(['source-address', rules.sourceAddresses.join(',')]);
  return {
    kind: 'user',
    ...common(subject),
    ...lifetime([rules.userExpirySeconds, maxUserLifetimeSeconds, subject.maxSeconds, subject.notAfter - now], now),
    criticalOptions: options,
    extensions: [...new Set(rules.extensions)].sort(byBytes),
  };
}

/** A certificate for a host. OpenSSH defines neither options nor extensions for these. `now` in seconds. Throws `InvalidRequestError`. */
export function hostProfile(subject: SshSubject, rules: SshRules, now: number): SshProfile {
  return {
    kind: 'host',
    ...common(subject),
    ...lifetime([rules.hostExpirySeconds, maxHostLifetimeSeconds, subject.maxSeconds, subject.notAfter - now], now),
    criticalOptions: [],
    extensions: [],
  };
}

function common(subject: SshSubject): Pick<SshProfile, 'serial' | 'keyId' | 'principals'> {
  const [first, ...others] = new Set(subject.principals);
  if (first === undefined || first === '' || others.includes('')) {
    throw new InvalidRequestError('principals must not be empty');
  }
  if (others.length >= maxPrincipals) throw new InvalidRequestError(`principals must be ${maxPrincipals} at most`);
  if (subject.serial <= 0n || subject.serial >= 1n << 64n)
    throw new RangeError('a serial number has 64 bits and is not 0');
  if (subject.keyId === '') throw new RangeError('a key id is not empty');
  return { serial: subject.serial, keyId: subject.keyId, principals: [first, ...others] };
}

function lifetime(
  bounds: readonly (number | undefined)[],
  now: number,
): Pick<SshProfile, 'validAfter' | 'validBefore'> {
  const seconds = Math.floor(Math.min(...bounds.filter((bound) => bound !== undefined)));
  if (!(seconds >= 1)) throw new InvalidRequestError('the lifetime must be a second or more');
  return { validAfter: now - sshBackdateSeconds, validBefore: now + seconds };
}

/* Options and extensions stand in the order of their bytes (PROTOCOL.certkeys of OpenSSH). */
function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
