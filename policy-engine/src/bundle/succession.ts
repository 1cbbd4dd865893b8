import { formatTimestamp } from '../clock.ts';
import { PolicyEngineError } from '../errors.ts';
import { athenzForm, canonicalFormOf } from './canonical-policies.ts';
import type { BundleOrigin } from './decode-payload.ts';

/** Order of bundles: the higher epoch is newer, and within an epoch the higher version. */
export interface BundleVersion {
  readonly epoch: number;
  readonly version: number;
}

/** Record of the newest bundle of a domain that was ever accepted. */
export interface BundleFloor extends BundleVersion {
  /** Time of issue, in milliseconds since the epoch; unknown in floors of earlier programs. */
  readonly issued?: number;
  /** Digest of its policies; unknown in floors of earlier programs. */
  readonly digest?: string;
}

/** A floor that knows from what its digest was made. */
export interface KnownFloor extends BundleFloor {
  /**
   * SHA-256 of the text of the policies in the bundle, in base64url: a bundle with the same text has the same digest, and a reader need not
   * compute that again. Absent for small bundles, and in floors of earlier programs.
   */
  readonly content?: string;
}

/**
 * Properties of a bundle that are compared with a floor. Without a digest the policies are not compared: the bundle has another version than the
 * floor, or the same content.
 */
export type Successor = Required<Omit<BundleFloor, 'digest'>> & Pick<KnownFloor, 'digest' | 'content'>;

/** Maximum lead of epoch and version over the newest known ones: nothing that counts one by one uses up more. */
export const maxVersionJump = 2 ** 32;

/** True if `a` is older than `b`. */
export function isOlder(a: BundleVersion, b: BundleVersion): boolean {
  return a.epoch < b.epoch || (a.epoch === b.epoch && a.version < b.version);
}

/** The form of the digest says whose bundle it was: floors need no member for it, which earlier programs would lose. */
function isOfAthenz({ digest }: BundleFloor): boolean {
  return digest !== undefined && formOf(digest) === athenzForm;
}

/** Like `isOlder`, except that a bundle of an Athenz server is older than any of a Signet server: hosts migrate in that direction only. */
function isBefore(a: BundleFloor, b: BundleFloor): boolean {
  return isOfAthenz(a) === isOfAthenz(b) ? isOlder(a, b) : isOfAthenz(a);
}

/**
 * Error for a bundle that may not follow those that were accepted before (docs/reference/policy-bundles.md#what-may-follow), undefined when it
 * may: it is older; it has other policies under the same epoch and version; it was issued earlier in the same epoch; or its epoch or version is
 * so far ahead that it would shut out every honest one. Without a floor the jump is one from nought. Members that a floor lacks are not
 * compared.
 */
export function refuseSuccessor(next: Successor, floor: BundleFloor | undefined): PolicyEngineError | undefined {
  if (floor !== undefined && isBefore(next, floor)) return rollback(next, floor);
  // Versions before a migration do not constrain the versions after it.
  const known = floor !== undefined && isOfAthenz(floor) === isOfAthenz(next) ? floor : undefined;
  if (jumps(next, known)) {
    return new PolicyEngineError(
      'bundle-version-jump',
      `epoch or version of the bundle (${inWords(next)}) is more than 2^32 ahead of ${known === undefined ? 'nought' : `those accepted before (${inWords(known)})`}`,
    );
  }
  return known === undefined || next.epoch !== known.epoch ? undefined : refuseInEpoch(next, known);
}

/** True if the version leads the known one by too much. Athenz bundles are exempt: their order is a time, which the clock bounds. */
function jumps(next: Successor, known: BundleFloor | undefined): boolean {
  if (isOfAthenz(next)) return false;
  return next.epoch - (known?.epoch ?? 0) > maxVersionJump || next.version - (known?.version ?? 0) > maxVersionJump;
}

function refuseInEpoch(next: Successor, floor: BundleFloor): PolicyEngineError | undefined {
  if (next.version === floor.version && isOtherDigest(next.digest, floor.digest)) return equivocation(next);
  if (floor.issued !== undefined && next.issued < floor.issued) {
    return new PolicyEngineError(
      'bundle-issued-earlier',
      `bundle (${inWords(next)}) was issued before the one accepted last`,
    );
  }
  return undefined;
}

/** The floor after a bundle that was accepted, or after another floor for the same domain: it never falls, and what it knows stays. */
export function raiseFloor(floor: KnownFloor | undefined, next: KnownFloor): KnownFloor {
  if (floor === undefined || isBefore(floor, next)) return floorOf(next);
  if (isBefore(next, floor) || isOtherDigest(next.digest, floor.digest)) return floor;
  const knowsMore = next.digest !== undefined && (next.content !== undefined || next.digest !== floor.digest);
  const { epoch, version, digest, content } = knowsMore ? next : floor;
  const issued = Math.max(floor.issued ?? 0, next.issued ?? 0);
  return floorOf({ epoch, version, digest, content, issued: issued > 0 ? issued : undefined });
}

/** True if two floors agree in every member. */
export function isSameFloor(one: KnownFloor | undefined, other: KnownFloor): boolean {
  return (
    one?.epoch === other.epoch &&
    one.version === other.version &&
    one.issued === other.issued &&
    one.digest === other.digest &&
    one.content === other.content
  );
}

/** Members of a floor, of a bundle that has more. */
function floorOf({ epoch, version, issued, digest, content }: Facts): KnownFloor {
  return {
    epoch,
    version,
    ...(issued !== undefined && { issued }),
    ...(digest !== undefined && { digest }),
    ...(content !== undefined && { content }),
  };
}

type Facts = { readonly [Member in keyof KnownFloor]: KnownFloor[Member] | undefined } & BundleVersion;

/** Digests of different forms say nothing of each other: a program of another version made one of them. */
function isOtherDigest(one: string | undefined, other: string | undefined): boolean {
  return one !== undefined && other !== undefined && formOf(one) === formOf(other) && one !== other;
}

/** True if the digest has the form that this program makes for a bundle of that origin. */
export function isDigestOf(digest: string, origin: BundleOrigin): boolean {
  return formOf(digest) === canonicalFormOf(origin);
}

function formOf(digest: string): string {
  return digest.slice(0, digest.indexOf(':'));
}

function rollback(found: BundleFloor, floor: BundleFloor): PolicyEngineError {
  return new PolicyEngineError(
    'bundle-rollback',
    `bundle is older (${inWords(found)}) than one accepted before (${inWords(floor)})`,
  );
}

function equivocation(found: BundleFloor): PolicyEngineError {
  return new PolicyEngineError(
    'bundle-equivocation',
    `bundle has different policies than one accepted before with the same ${isOfAthenz(found) ? 'time' : 'epoch and version'} (${inWords(found)})`,
  );
}

function inWords(floor: BundleFloor): string {
  const { epoch, version } = floor;
  return isOfAthenz(floor) ? `of Athenz, modified ${formatTimestamp(version)}` : `epoch ${epoch}, version ${version}`;
}
