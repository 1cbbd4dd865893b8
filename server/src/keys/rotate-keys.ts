import type { Clock } from '@signet/policy-engine/clock';
import type { KeyPurpose } from '@signet/policy-engine/wire';
import { ConflictError, NotFoundError, StoreReadOnlyError } from '../errors.ts';
import type { SealedKey, SigningKeyRecord } from '../model/records.ts';
import type { StoreTransaction } from '../model/store.ts';
import {
  isStandby,
  keyStates,
  type RotationSchedule,
  rotationDueAt,
  type SignatureLife,
  signingOrder,
  standbyTime,
  waitingKeys,
} from './key-life.ts';
import { newSigningKey } from './new-signing-key.ts';
import type { PrivateKeys } from './private-keys.ts';

/** The purposes that a server needs a key for. */
export const keyPurposes: readonly KeyPurpose[] = ['token', 'bundle'];

/** Part of a transaction that a change of signing keys uses. */
type SigningKeyTransaction = Pick<
  StoreTransaction,
  'signingKeys' | 'sealedKeys' | 'addSigningKey' | 'sealSigningKey' | 'activateSigningKey' | 'markKeyCompromised'
>;

/** Store of the records of signing keys. */
export interface SigningKeyStore {
  signingKeys(): Promise<readonly SigningKeyRecord[]>;
  sealedKeys(): Promise<ReadonlyMap<string, SealedKey>>;
  change<Result>(work: (transaction: SigningKeyTransaction) => Promise<Result>): Promise<Result>;
}

export interface RotateKeysDeps {
  readonly store: SigningKeyStore;
  readonly privateKeys: PrivateKeys;
  readonly clock: Clock;
}

/** A key that signs from `activateAt` on; `createdAt` is since when verifiers can know it. */
export type Successor = Pick<SigningKeyRecord, 'kid' | 'purpose' | 'createdAt' | 'activateAt'>;

/** A key that is not in the store yet, and its private half where the store keeps that. */
interface MadeKey {
  readonly record: SigningKeyRecord;
  readonly sealed: SealedKey | undefined;
}

/**
 * A new key, whose private half is on disk before its record is in the store, or comes into it with the record: a record without a key can
 * then only mean that the key is on another machine.
 */
async function makeKey(
  { privateKeys, clock }: RotateKeysDeps,
  purpose: KeyPurpose,
  activateAt: number,
): Promise<MadeKey> {
  const { record, privateKey } = newSigningKey(purpose, clock.now(), activateAt);
  return { record, sealed: await privateKeys.keep(record, privateKey) };
}

function add(transaction: SigningKeyTransaction, { record, sealed }: MadeKey): Promise<void> {
  return transaction.addSigningKey(record, sealed);
}

/** Changes the store with keys that were made for it; those that are certainly not in it leave no file behind. */
async function changeWith<Result>(
  { store, privateKeys }: RotateKeysDeps,
  made: readonly (MadeKey | undefined)[],
  work: (transaction: SigningKeyTransaction) => Promise<Result>,
): Promise<Result> {
  try {
    return await store.change(work);
  } catch (error) {
    // After any other failure it is unknown whether the records were written.
    const isRefused = error instanceof StoreReadOnlyError || error instanceof ConflictError;
    for (const key of isRefused ? made : []) if (key !== undefined) await privateKeys.discard(key.record.kid);
    throw error;
  }
}

/** Adds one key that signs from `delayMs` on. */
export async function addSigningKey(
  deps: RotateKeysDeps,
  purpose: KeyPurpose,
  delayMs: number,
): Promise<SigningKeyRecord> {
  const made = await makeKey(deps, purpose, deps.clock.now() + delayMs);
  await changeWith(deps, [made], (transaction) => add(transaction, made));
  return made.record;
}

/** Makes the first key of each purpose that has none, and a standby key beside it. Servers that do so at once make one of each. */
export async function ensureSigningKeys(deps: RotateKeysDeps): Promise<void> {
  for (const purpose of keyPurposes) {
    const now = deps.clock.now();
    const before = await deps.store.signingKeys();
    if (signingOrder(before, purpose, now).length > 0) continue;
    const first = await makeKey(deps, purpose, now);
    const standby = await makeKey(deps, purpose, standbyTime);
    const added = await changeWith(deps, [first, standby], async (transaction): Promise<readonly MadeKey[]> => {
      const records = await transaction.signingKeys();
      // Compared by number, not by time: the clock of another server may be ahead.
      if (countOf(records, purpose) !== countOf(before, purpose)) return [];
      const keys = hasStandby(records, purpose) ? [first] : [first, standby];
      for (const key of keys) await add(transaction, key);
      return keys;
    });
    for (const key of [first, standby]) if (!added.includes(key)) await deps.privateKeys.discard(key.record.kid);
  }
}

function countOf(records: readonly SigningKeyRecord[], purpose: KeyPurpose): number {
  return records.filter((record) => record.purpose === purpose).length;
}

/** Makes a standby key for each purpose that has none, so that verifiers know it when it is needed. Servers that do so at once make one. */
export async function ensureStandbyKeys(deps: RotateKeysDeps): Promise<void> {
  for (const purpose of keyPurposes) {
    if (hasStandby(await deps.store.signingKeys(), purpose)) continue;
    const made = await makeKey(deps, purpose, standbyTime);
    const isAdded = await changeWith(deps, [made], async (transaction) => {
      if (hasStandby(await transaction.signingKeys(), purpose)) return false;
      await add(transaction, made);
      return true;
    });
    if (!isAdded) await deps.privateKeys.discard(made.record.kid);
  }
}

function hasStandby(records: readonly SigningKeyRecord[], purpose: KeyPurpose): boolean {
  return waitingKeys(records, purpose, standbyTime - 1).length > 0;
}

/** The keys of a purpose that could take over and whose private half is here, the one that verifiers have known longest first. */
function candidates(
  { privateKeys, clock }: RotateKeysDeps,
  records: readonly SigningKeyRecord[],
  purpose: KeyPurpose,
): readonly SigningKeyRecord[] {
  return waitingKeys(records, purpose, clock.now()).filter((record) => isHere(privateKeys, record));
}

/** True if the key can be read here. A damaged one must not block rotation or withdrawal of another: it is treated as absent. */
function isHere(privateKeys: PrivateKeys, record: SigningKeyRecord): boolean {
  try {
    return privateKeys.read(record) !== undefined;
  } catch {
    return false;
  }
}

interface RotationTiming {
  readonly delayMs: number;
  readonly isNow: boolean;
}

/** A rotation that is not in the store yet. */
interface PreparedRotation {
  readonly successor: Successor;
  readonly made: readonly MadeKey[];
  /** Throws `ConflictError` when the keys were changed meanwhile. */
  record(transaction: SigningKeyTransaction): Promise<void>;
}

async function prepareRotation(
  deps: RotateKeysDeps,
  purpose: KeyPurpose,
  { delayMs, isNow }: RotationTiming,
): Promise<PreparedRotation> {
  await deps.privateKeys.load();
  const waiting = candidates(deps, await deps.store.signingKeys(), purpose);
  const known = waiting.find((record) => isNow || isStandby(record));
  const at = deps.clock.now() + (isNow ? 0 : delayMs);
  const spare = await makeKey(deps, purpose, standbyTime);
  const made = known === undefined ? await makeKey(deps, purpose, at) : undefined;
  const { record } = made ?? { record: known ?? spare.record };
  return {
    successor: { ...record, activateAt: at },
    made: made === undefined ? [spare] : [spare, made],
    async record(transaction) {
      if (made !== undefined) await add(transaction, made);
      if (known !== undefined && !(await transaction.activateSigningKey(known.kid, at))) throw lostRace();
      await add(transaction, spare);
    },
  };
}

/**
 * Rotates: the standby key of a purpose signs from `delayMs` on, and a new one is made. With `isNow` the key that verifiers have known longest
 * signs at once, even if its turn was yet to come.
 */
export async function rotateKey(deps: RotateKeysDeps, purpose: KeyPurpose, timing: RotationTiming): Promise<Successor> {
  const rotation = await prepareRotation(deps, purpose, timing);
  await changeWith(deps, rotation.made, (transaction) => rotation.record(transaction));
  return rotation.successor;
}

/**
 * Rotates like `rotateKey` where the schedule says that it is due; else undefined. That is checked again in the transaction: of servers that
 * find it due at once, one rotates.
 */
export async function rotateKeyWhenDue(
  deps: RotateKeysDeps,
  purpose: KeyPurpose,
  schedule: RotationSchedule,
): Promise<Successor | undefined> {
  const isDue = (records: readonly SigningKeyRecord[]) => rotationDueAt(records, purpose, schedule) <= deps.clock.now();
  if (!isDue(await deps.store.signingKeys())) return undefined;
  const rotation = await prepareRotation(deps, purpose, { delayMs: schedule.delayMs, isNow: false });
  const isDone = await changeWith(deps, rotation.made, async (transaction) => {
    if (!isDue(await transaction.signingKeys())) return false;
    await rotation.record(transaction);
    return true;
  });
  if (isDone) return rotation.successor;
  for (const { record } of rotation.made) await deps.privateKeys.discard(record.kid);
  return undefined;
}

function lostRace(): ConflictError {
  return new ConflictError('the signing keys were changed at the same time: run `signet keys list`, then try again');
}

interface WithdrawDeps extends RotateKeysDeps {
  readonly life: SignatureLife;
  /** Time for which a key is published before verifiers are sure to know it, in milliseconds. */
  readonly prepublishMs: number;
}

/**
 * Withdraws a compromised key for good. When it was the one that signs, a key that verifiers know takes its place in the same
 * transaction: a standby key, else the key that signed before while it is published, else the one that verifiers have known longest, which is
 * answered. Throws `NotFoundError`, and `ConflictError` when the keys of its purpose were changed meanwhile.
 */
export async function withdrawKey(deps: WithdrawDeps, kid: string): Promise<Successor | undefined> {
  const now = deps.clock.now();
  const records = await deps.store.signingKeys();
  const lost = records.find((record) => record.kid === kid);
  if (lost === undefined) throw new NotFoundError(`there is no signing key \`${kid}\``);
  if (lost.compromisedAt !== undefined) return undefined;
  await deps.privateKeys.load();
  const successor = await successorOf(deps, records, lost);
  const rest = records.filter((record) => record.kid !== kid && record.kid !== successor?.record.kid);
  const spare = hasStandby(rest, lost.purpose) ? undefined : await makeKey(deps, lost.purpose, standbyTime);
  await changeWith(deps, [spare, successor?.made], async (transaction) => {
    // The successor depends on all keys: of two that are withdrawn at once, each would leave it to the other one.
    if (!areSameKeys(records, await transaction.signingKeys(), lost.purpose)) throw lostRace();
    if (successor !== undefined) await install(transaction, successor);
    await transaction.markKeyCompromised(kid, now);
    if (spare !== undefined) await add(transaction, spare);
  });
  return successor?.record;
}

/** True if the keys of a purpose are unchanged, with their states. Both are in the order of the store. */
function areSameKeys(
  before: readonly SigningKeyRecord[],
  after: readonly SigningKeyRecord[],
  purpose: KeyPurpose,
): boolean {
  const told = (records: readonly SigningKeyRecord[]) =>
    JSON.stringify(
      records
        .filter((record) => record.purpose === purpose)
        .map(({ kid, activateAt, compromisedAt }) => [kid, activateAt, compromisedAt]),
    );
  return told(before) === told(after);
}

/** Successor of another key, from its `activateAt` on. */
interface Heir {
  readonly record: SigningKeyRecord;
  /** Key that is not in the store yet. */
  readonly made?: MadeKey;
}

async function install(transaction: SigningKeyTransaction, { record, made }: Heir): Promise<void> {
  if (made !== undefined) await add(transaction, made);
  else if (!(await transaction.activateSigningKey(record.kid, record.activateAt))) throw lostRace();
}

/** Successor of a key; undefined where none is needed, or the former key takes over. */
async function successorOf(
  deps: WithdrawDeps,
  records: readonly SigningKeyRecord[],
  lost: SigningKeyRecord,
): Promise<Heir | undefined> {
  const now = deps.clock.now();
  const states = keyStates(records, now, deps.life);
  if (states.get(lost.kid) !== 'active') return undefined;
  // Successor in place of the lost key: it signs at once, also where a clock is behind, and earlier keys stay retired.
  const { activateAt, purpose } = lost;
  const [known] = candidates(deps, records, purpose);
  const heir = known && { record: { ...known, activateAt } };
  if (known !== undefined && known.createdAt + deps.prepublishMs <= now) return heir;
  if (isTakenOver(deps, records, lost, states)) return undefined;
  if (heir !== undefined) return heir;
  const made = await makeKey(deps, purpose, activateAt);
  return { record: made.record, made };
}

/** True if the former signing key is still published and here. Any earlier one would not be the active one then. */
function isTakenOver(
  { privateKeys }: WithdrawDeps,
  records: readonly SigningKeyRecord[],
  lost: SigningKeyRecord,
  states: ReturnType<typeof keyStates>,
): boolean {
  const before = signingOrder(records, lost.purpose, lost.activateAt).find(({ kid }) => kid !== lost.kid);
  return before !== undefined && states.get(before.kid) === 'retired' && isHere(privateKeys, before);
}
