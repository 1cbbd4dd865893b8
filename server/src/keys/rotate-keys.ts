import type { Clock } from '@signet/policy-engine/clock';
import type { KeyPurpose } from '@signet/policy-engine/wire';
import { ConflictError, NotFoundError, StoreReadOnlyError } from '../errors.ts';
import type { SigningKeyRecord } from '../model/records.ts';
import type { StoreTransaction } from '../model/store.ts';
import type { KeyFiles } from './key-files.ts';
import { isStandby, keyStates, type SignatureLife, signingOrder, standbyTime, waitingKeys } from './key-life.ts';
import { newSigningKey } from './new-signing-key.ts';

/** The purposes that a server needs a key for. */
export const keyPurposes: readonly KeyPurpose[] = ['token', 'bundle'];

/** What a change of signing keys does in its transaction. */
type SigningKeyTransaction = Pick<
  StoreTransaction,
  'signingKeys' | 'addSigningKey' | 'activateSigningKey' | 'markKeyCompromised'
>;

/** Where the records of signing keys are kept. */
export interface SigningKeyStore {
  signingKeys(): Promise<readonly SigningKeyRecord[]>;
  /** Runs `work` in one transaction. */
  change<Result>(work: (transaction: SigningKeyTransaction) => Promise<Result>): Promise<Result>;
}

export interface RotateKeysDeps {
  readonly store: SigningKeyStore;
  readonly files: KeyFiles;
  readonly clock: Clock;
}

/** A key that signs from `activateAt` on; `createdAt` is since when verifiers can know it. */
export type Successor = Pick<SigningKeyRecord, 'kid' | 'purpose' | 'createdAt' | 'activateAt'>;

/**
 * A new key, whose private half is on disk before its record is in the store: a record without a key can then only mean that the key is
 * on another machine.
 */
async function makeKey({ files, clock }: RotateKeysDeps, purpose: KeyPurpose, activateAt: number) {
  const { record, privateKey } = newSigningKey(purpose, clock.now(), activateAt);
  await files.write(record.kid, privateKey);
  return record;
}

/** Changes the store with keys that were made for it; those that are certainly not in it leave no file behind. */
async function changeWith<Result>(
  { store, files }: RotateKeysDeps,
  made: readonly (SigningKeyRecord | undefined)[],
  work: (transaction: SigningKeyTransaction) => Promise<Result>,
): Promise<Result> {
  try {
    return await store.change(work);
  } catch (error) {
    // Of any other failure nobody can say whether the records are there.
    const isRefused = error instanceof StoreReadOnlyError || error instanceof ConflictError;
    for (const record of isRefused ? made : []) if (record !== undefined) await files.remove(record.kid);
    throw error;
  }
}

/** Adds one key that signs from `delayMs` on. */
export async function addSigningKey(
  deps: RotateKeysDeps,
  purpose: KeyPurpose,
  delayMs: number,
): Promise<SigningKeyRecord> {
  const record = await makeKey(deps, purpose, deps.clock.now() + delayMs);
  await changeWith(deps, [record], (transaction) => transaction.addSigningKey(record));
  return record;
}

/** Makes the first key of each purpose that has none, and a standby key beside it; the records of the first ones. */
export async function ensureSigningKeys(deps: RotateKeysDeps): Promise<readonly SigningKeyRecord[]> {
  const records = await deps.store.signingKeys();
  const made: SigningKeyRecord[] = [];
  for (const purpose of keyPurposes) {
    if (signingOrder(records, purpose, deps.clock.now()).length > 0) continue;
    const first = await makeKey(deps, purpose, deps.clock.now());
    const standby = hasStandby(records, purpose) ? undefined : await makeKey(deps, purpose, standbyTime);
    await changeWith(deps, [first, standby], async (transaction) => {
      await transaction.addSigningKey(first);
      if (standby !== undefined) await transaction.addSigningKey(standby);
    });
    made.push(first);
  }
  return made;
}

/** Makes a standby key for each purpose that has none, so that verifiers know it when it is needed. Servers that do so at once make one. */
export async function ensureStandbyKeys(deps: RotateKeysDeps): Promise<void> {
  for (const purpose of keyPurposes) {
    if (hasStandby(await deps.store.signingKeys(), purpose)) continue;
    const record = await makeKey(deps, purpose, standbyTime);
    const isAdded = await changeWith(deps, [record], async (transaction) => {
      if (hasStandby(await transaction.signingKeys(), purpose)) return false;
      await transaction.addSigningKey(record);
      return true;
    });
    if (!isAdded) await deps.files.remove(record.kid);
  }
}

function hasStandby(records: readonly SigningKeyRecord[], purpose: KeyPurpose): boolean {
  return waitingKeys(records, purpose, standbyTime - 1).length > 0;
}

/** The keys of a purpose that could take over and whose private half is here, the one that verifiers have known longest first. */
function candidates(
  { files, clock }: RotateKeysDeps,
  records: readonly SigningKeyRecord[],
  purpose: KeyPurpose,
): readonly SigningKeyRecord[] {
  return waitingKeys(records, purpose, clock.now()).filter(({ kid }) => files.read(kid) !== undefined);
}

/**
 * Has the standby key of a purpose sign from `delayMs` on, and makes another one. With `isNow` the key that verifiers have known longest
 * signs at once, be it one whose turn was yet to come.
 */
export async function rotateKey(
  deps: RotateKeysDeps,
  purpose: KeyPurpose,
  { delayMs, isNow }: { readonly delayMs: number; readonly isNow: boolean },
): Promise<Successor> {
  const waiting = candidates(deps, await deps.store.signingKeys(), purpose);
  const known = waiting.find((record) => isNow || isStandby(record));
  const at = deps.clock.now() + (isNow ? 0 : delayMs);
  const spare = await makeKey(deps, purpose, standbyTime);
  const made = known ?? (await makeKey(deps, purpose, at));
  await changeWith(deps, [spare, ...(known === undefined ? [made] : [])], async (transaction) => {
    if (known === undefined) await transaction.addSigningKey(made);
    else if (!(await transaction.activateSigningKey(known.kid, at))) throw lostRace();
    await transaction.addSigningKey(spare);
  });
  return { ...made, activateAt: at };
}

function lostRace(): ConflictError {
  return new ConflictError('the signing keys were changed at the same time: run `signet keys list`, then try again');
}

interface WithdrawDeps extends RotateKeysDeps {
  readonly life: SignatureLife;
  /** How long a key is published before verifiers are sure to know it, in milliseconds. */
  readonly prepublishMs: number;
}

/**
 * Withdraws a compromised key for good. When it was the one that signs, a key that verifiers know takes its place in the same
 * transaction: a standby key, else the key that signed before while it is published, else the one that verifiers have known longest, which is
 * answered. Throws `NotFoundError`.
 */
export async function withdrawKey(deps: WithdrawDeps, kid: string): Promise<Successor | undefined> {
  const now = deps.clock.now();
  const records = await deps.store.signingKeys();
  const lost = records.find((record) => record.kid === kid);
  if (lost === undefined) throw new NotFoundError(`there is no signing key \`${kid}\``);
  if (lost.compromisedAt !== undefined) return undefined;
  const successor = await successorOf(deps, records, lost);
  const rest = records.filter((record) => record.kid !== kid && record.kid !== successor?.kid);
  const spare = hasStandby(rest, lost.purpose) ? undefined : await makeKey(deps, lost.purpose, standbyTime);
  await changeWith(deps, [spare, ...(successor?.isNew ? [successor] : [])], async (transaction) => {
    if (successor?.isNew) await transaction.addSigningKey(successor);
    else if (successor && !(await transaction.activateSigningKey(successor.kid, successor.activateAt)))
      throw lostRace();
    await transaction.markKeyCompromised(kid, now);
    if (spare !== undefined) await transaction.addSigningKey(spare);
  });
  return successor;
}

/** What takes the place of a key; undefined where nothing has to, or the key before does. */
async function successorOf(
  deps: WithdrawDeps,
  records: readonly SigningKeyRecord[],
  lost: SigningKeyRecord,
): Promise<(SigningKeyRecord & { readonly isNew: boolean }) | undefined> {
  const now = deps.clock.now();
  const states = keyStates(records, now, deps.life);
  if (states.get(lost.kid) !== 'active') return undefined;
  // In the place of the other one: it signs at once, also where a clock is behind, and what came before stays retired.
  const { activateAt, purpose } = lost;
  const [known] = candidates(deps, records, purpose);
  if (known !== undefined && known.createdAt + deps.prepublishMs <= now) return { ...known, activateAt, isNew: false };
  const isBefore = (record: SigningKeyRecord) => record.purpose === purpose && states.get(record.kid) === 'retired';
  if (records.some((record) => isBefore(record) && deps.files.read(record.kid) !== undefined)) return undefined;
  if (known !== undefined) return { ...known, activateAt, isNew: false };
  return { ...(await makeKey(deps, purpose, activateAt)), isNew: true };
}
