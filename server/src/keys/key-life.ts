import type { Jwk, KeyPurpose } from '@signet/policy-engine/wire';
import type { SigningKeyRecord } from '../model/records.ts';

/**
 * `next` is published and does not sign yet, `standby` neither until it is needed, `active` signs, `retired` only verifies, `withdrawn`
 * does neither.
 */
type KeyState = 'standby' | 'next' | 'active' | 'retired' | 'withdrawn';

/** `activateAt` of a standby key: the last moment that a date can hold. Programs of before see a key whose time has not come. */
export const standbyTime = 8_640_000_000_000_000;

/** Maximum validity of signatures by a key, in milliseconds: a retired key is published that long (and the skew). */
export type SignatureLife = Readonly<Record<KeyPurpose, number>>;

/** Clocks of verifiers may be this far off, in milliseconds. */
export const keySkewMs = 300_000;

export function isStandby({ activateAt }: Pick<SigningKeyRecord, 'activateAt'>): boolean {
  return activateAt === standbyTime;
}

/** The keys of one purpose that are published and do not sign yet, the one that verifiers have known longest first. */
export function waitingKeys(
  records: readonly SigningKeyRecord[],
  purpose: KeyPurpose,
  now: number,
): readonly SigningKeyRecord[] {
  return usable(records, purpose)
    .filter((record) => record.activateAt > now)
    .sort((one, other) => one.createdAt - other.createdAt);
}

/** The records of one purpose that may be used, the one that signs last first. */
function usable(records: readonly SigningKeyRecord[], purpose: KeyPurpose): SigningKeyRecord[] {
  return records
    .filter((record) => record.purpose === purpose && record.compromisedAt === undefined)
    .sort((one, other) => other.activateAt - one.activateAt || (one.kid < other.kid ? 1 : -1));
}

/**
 * The records that may sign now, best first: the one with the greatest `activateAt` that is not in the future, then its
 * predecessors, for a server that does not hold the private key of the best.
 */
export function signingOrder(
  records: readonly SigningKeyRecord[],
  purpose: KeyPurpose,
  now: number,
): readonly SigningKeyRecord[] {
  return usable(records, purpose).filter((record) => record.activateAt <= now);
}

/** The state of every record at `now`; a pure function of time, so that every server and process agrees. */
export function keyStates(
  records: readonly SigningKeyRecord[],
  now: number,
  life: SignatureLife,
): ReadonlyMap<string, KeyState> {
  const states = new Map<string, KeyState>(records.map((record) => [record.kid, 'withdrawn']));
  for (const purpose of ['token', 'bundle'] as const) {
    let successor: SigningKeyRecord | undefined;
    for (const record of usable(records, purpose)) {
      states.set(record.kid, stateOf(record, successor, now, life[purpose]));
      if (record.activateAt <= now) successor = record;
    }
  }
  return states;
}

function stateOf(
  record: SigningKeyRecord,
  successor: SigningKeyRecord | undefined,
  now: number,
  lifeMs: number,
): KeyState {
  if (record.activateAt > now) return isStandby(record) ? 'standby' : 'next';
  if (successor === undefined) return 'active';
  return now < successor.activateAt + lifeMs + keySkewMs ? 'retired' : 'withdrawn';
}

/** The public keys to publish at `now`: standby, next, active and retired ones, each with its purpose. */
export function publishedKeys(records: readonly SigningKeyRecord[], now: number, life: SignatureLife): readonly Jwk[] {
  const states = keyStates(records, now, life);
  return records
    .filter((record) => states.get(record.kid) !== 'withdrawn')
    .map((record) => ({ ...record.publicJwk, purpose: record.purpose }));
}

/** Schedule of key rotation, in milliseconds. */
export interface RotationSchedule {
  /** Signing time of each key. */
  readonly everyMs: number;
  /** Lead with which the next key is scheduled. */
  readonly delayMs: number;
}

/** The key of a purpose that signs, or that has been given its time, whichever comes last. */
export function latestKey(records: readonly SigningKeyRecord[], purpose: KeyPurpose): SigningKeyRecord | undefined {
  return usable(records, purpose).find((record) => !isStandby(record));
}

/** Time at which the next rotation of a purpose is due, so that no key signs for longer than the schedule says; Infinity where none signs. */
export function rotationDueAt(
  records: readonly SigningKeyRecord[],
  purpose: KeyPurpose,
  { everyMs, delayMs }: RotationSchedule,
): number {
  const last = latestKey(records, purpose);
  return last === undefined ? Number.POSITIVE_INFINITY : last.activateAt + everyMs - delayMs;
}

/** Time of the next change of the states and the published keys, by time alone; Infinity if there is none. */
export function nextKeyChange(records: readonly SigningKeyRecord[], now: number, life: SignatureLife): number {
  const moments = records
    .filter((record) => !isStandby(record))
    .flatMap((record) => [record.activateAt, record.activateAt + life[record.purpose] + keySkewMs]);
  return Math.min(Number.POSITIVE_INFINITY, ...moments.filter((moment) => moment > now));
}
