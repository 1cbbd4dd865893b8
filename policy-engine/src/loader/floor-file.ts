import { isSameFloor, type KnownFloor, raiseFloor, refuseSuccessor, type Successor } from '../bundle/succession.ts';
import { PolicyEngineError } from '../errors.ts';
import { replaceFile } from '../files/index.ts';
import { decodeFloors, encodeFloors, maxFloorsBytes } from './decode-floors.ts';
import { readProtectedFile, systemCode } from './read-file.ts';

/**
 * Floor of each domain that was ever in force, in a file that outlives the engine; without a path in memory only. A malformed file is reported
 * and left for the operator to examine; until it is removed the floors hold in memory.
 */
export class FloorFile {
  readonly #path: string | undefined;
  readonly #onError: (error: PolicyEngineError) => void;
  readonly #floors = new Map<string, KnownFloor>();
  /** The file that was seen to hold every floor. */
  #complete: string | undefined;
  #saving: Promise<void> = Promise.resolve();
  #error: PolicyEngineError | undefined;

  private constructor(path: string | undefined, onError: (error: PolicyEngineError) => void) {
    this.#path = path;
    this.#onError = onError;
  }

  /** Reads the file. Never throws; `onError` is called for a fault once, as long as it stays the same. */
  static async open(path: string | undefined, onError: (error: PolicyEngineError) => void): Promise<FloorFile> {
    const opened = new FloorFile(path, onError);
    if (path === undefined) return opened;
    await opened.#reporting(async () => {
      const file = await readFloors(path, undefined);
      if (file !== 'unchanged') for (const [domain, floor] of file.floors) opened.#floors.set(domain, floor);
    });
    return opened;
  }

  /** Error of the last read or write of the file. */
  get error(): PolicyEngineError | undefined {
    return this.#error;
  }

  of(domain: string): KnownFloor | undefined {
    return this.#floors.get(domain);
  }

  /** Accepts a bundle that may follow the floor, which rises to it; returns the error for any other. */
  accept(domain: string, next: Successor): PolicyEngineError | undefined {
    const floor = this.#floors.get(domain);
    const refusal = refuseSuccessor(next, floor);
    if (refusal !== undefined) return refusal;
    const raised = raiseFloor(floor, next);
    if (isSameFloor(floor, raised)) return undefined;
    this.#floors.set(domain, raised);
    this.#complete = undefined;
    return undefined;
  }

  /** Writes the floors that the file does not hold. Resolves when that is done; never throws. */
  save(): Promise<void> {
    const path = this.#path;
    if (path !== undefined) this.#saving = this.#saving.then(() => this.#reporting(() => this.#write(path)));
    return this.#saving;
  }

  /** Other engines may share the file: a floor in it never falls, and one that another writer lost is written again. */
  async #write(path: string): Promise<void> {
    const file = await readFloors(path, this.#complete);
    if (file === 'unchanged') return;
    this.#complete = file.identity;
    const raised = [...this.#floors].flatMap(([domain, floor]) => {
      const known = file.floors.get(domain);
      const higher = raiseFloor(known, floor);
      return isSameFloor(known, higher) ? [] : [[domain, higher] as const];
    });
    if (raised.length === 0) return;
    this.#complete = undefined;
    const content = { floors: encodeFloors([...file.floors, ...raised]) };
    await replaceFile(path, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o644 });
  }

  async #reporting(act: () => Promise<void>): Promise<void> {
    try {
      await act();
      this.#error = undefined;
    } catch (cause) {
      const error =
        cause instanceof PolicyEngineError ? cause : unavailable(`cannot be written (${systemCode(cause)})`, cause);
      const isNew = this.#error?.message !== error.message;
      this.#error = error;
      if (isNew) this.#onError(error);
    }
  }
}

interface FloorsRead {
  /** `undefined` when there is no file. */
  readonly identity: string | undefined;
  readonly floors: ReadonlyMap<string, KnownFloor>;
}

/** Throws `PolicyEngineError('floor-unavailable')`. */
async function readFloors(path: string, known: string | undefined): Promise<FloorsRead | 'unchanged'> {
  const file = await readProtectedFile(path, maxFloorsBytes, known);
  if (file.kind === 'unchanged') return 'unchanged';
  if (file.kind === 'absent') return { identity: undefined, floors: new Map() };
  if (file.kind === 'unreadable') throw unavailable(`cannot be used: ${file.problem}`);
  const floors = decodeFloors(file.bytes);
  if (floors === undefined) throw unavailable('cannot be understood; remove it when you know why');
  return { identity: file.identity, floors };
}

function unavailable(problem: string, cause?: unknown): PolicyEngineError {
  return new PolicyEngineError('floor-unavailable', `the file of floors ${problem}`, { cause });
}
