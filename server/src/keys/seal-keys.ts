import type { Clock } from '@signet/policy-engine/clock';
import { ConflictError } from '../errors.ts';
import type { SealedKey, SigningKeyRecord } from '../model/records.ts';
import { keyStates, type SignatureLife } from './key-life.ts';
import type { PrivateKeys } from './private-keys.ts';
import type { SigningKeyStore } from './rotate-keys.ts';
import { type KeyName, SealedKeyError, type Sealing } from './sealing.ts';

/** Result for one key: `missing`: its private half is not here, `unreadable`: it cannot be opened. */
interface SealOutcome {
  readonly kid: string;
  readonly purpose: SigningKeyRecord['purpose'];
  readonly state: string;
  readonly outcome: 'sealed' | 'unchanged' | 'missing' | 'unreadable';
}

interface SealDeps {
  readonly store: SigningKeyStore;
  readonly sealing: Sealing;
  readonly clock: Clock;
  readonly life: SignatureLife;
}

/**
 * Seals the private halves of this machine's files into the store, those that are not there yet or do not open, in one transaction. Keys
 * that will never sign again are left out. Throws `ConflictError`, and changes nothing, when that of an active key is neither here nor there.
 */
export function sealKeyFiles(
  deps: SealDeps & { readonly files: Pick<PrivateKeys, 'read'> },
): Promise<readonly SealOutcome[]> {
  const { sealing, files } = deps;
  return forEachKey(deps, async ({ record, state, half, put }) => {
    if (half !== undefined && opens(sealing, record, half)) return 'unchanged';
    const privateKey = files.read(record);
    if (privateKey === undefined && state === 'active') throw missingHere(record);
    if (privateKey === undefined) return half === undefined ? 'missing' : 'unreadable';
    await put(sealing.seal(record, privateKey));
    return 'sealed';
  });
}

/** Seals all private halves of the store with the present sealing key, in one transaction. Those that do not open stay as they are. */
export function resealKeys(deps: SealDeps): Promise<readonly SealOutcome[]> {
  const { sealing } = deps;
  return forEachKey(deps, async ({ record, half, put }) => {
    if (half === undefined) return 'missing';
    if (!opens(sealing, record, half)) return 'unreadable';
    if (half.sealingKey === sealing.id) return 'unchanged';
    await put(sealing.seal(record, sealing.open(record, half)));
    return 'sealed';
  });
}

/** Key that may sign now or later. */
interface Sealable {
  readonly record: SigningKeyRecord;
  readonly state: string;
  readonly half: SealedKey | undefined;
  readonly put: (sealed: SealedKey) => Promise<boolean>;
}

function forEachKey(
  { store, clock, life }: SealDeps,
  work: (key: Sealable) => Promise<SealOutcome['outcome']>,
): Promise<readonly SealOutcome[]> {
  return store.change(async (transaction) => {
    const records = await transaction.signingKeys();
    const halves = await transaction.sealedKeys();
    const states = keyStates(records, clock.now(), life);
    const outcomes: SealOutcome[] = [];
    for (const record of records) {
      const { kid, purpose } = record;
      const [state, half] = [states.get(kid), halves.get(kid)];
      if (state === undefined || state === 'withdrawn') continue;
      const put = (sealed: SealedKey) => transaction.sealSigningKey(kid, sealed);
      outcomes.push({ kid, purpose, state, outcome: await work({ record, state, half, put }) });
    }
    return outcomes;
  });
}

function opens(sealing: Sealing, name: KeyName, half: SealedKey): boolean {
  try {
    sealing.open(name, half);
    return true;
  } catch (error) {
    if (error instanceof SealedKeyError) return false;
    throw error;
  }
}

function missingHere({ kid, purpose }: SigningKeyRecord): ConflictError {
  return new ConflictError(
    `the active ${purpose} key \`${kid}\` has no file on this machine and is not sealed in the store: no key was sealed; ` +
      'run this first on the machine that has the file',
  );
}
