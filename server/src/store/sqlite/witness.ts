import { hash } from 'node:crypto';
import { closeSync, fdatasyncSync, fstatSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { createFileSync, replaceFileSync } from '@signet/policy-engine/internal/files';
import { z } from 'zod';
import { checkOwnFile, fileIdentity } from './file-checks.ts';
import { syncNameOf } from './written-file.ts';

/*
 * The witness of a store: a small file beside it that says how far the store had come when a change was acknowledged, written and synced
 * before each acknowledgement. A store that lost what its log held has not come that far. The file has a few places, and the change with number
 * n is written in place n modulo their count: a place that was cut off while it was written leaves the one before. Of several processes one may
 * come late, and none writes over what a later one says.
 */

/** Position of a store in its history. */
export interface Position {
  readonly epoch: number;
  /** The number of the newest transaction. */
  readonly sequence: number;
  /** The hash of the newest audit record, empty before the first. */
  readonly head: string;
}

/** State of the witness beside a store: none, an unreadable one, or the position of the store. */
export type WitnessState = 'missing' | 'unreadable' | Position;

const places = 16;
/** A disk writes no less than this at once: what happens to one place happens to no other. */
const placeBytes = 4096;
/** Padding of a place behind its line. */
const blank = Buffer.alloc(placeBytes, '\n');

const positionSchema = z.object({ epoch: z.int(), sequence: z.int(), head: z.string() });

export function witnessFileOf(storeFile: string): string {
  return `${storeFile}.witness`;
}

/** The furthest place that can be read. Throws `StoreRefusedError` for a file that others may use. */
export function readWitness(storeFile: string): WitnessState {
  const file = witnessFileOf(storeFile);
  if (checkOwnFile(file, 'witness') === undefined) return 'missing';
  const bytes = readFileSync(file);
  let furthest: Position | undefined;
  for (let place = 0; place < places; place += 1) {
    const position = parsePlace(bytes.subarray(place * placeBytes, (place + 1) * placeBytes));
    if (position !== undefined && (furthest === undefined || isFurther(position, furthest))) furthest = position;
  }
  return furthest ?? 'unreadable';
}

export function isFurther(one: Position, other: Position): boolean {
  return one.epoch > other.epoch || (one.epoch === other.epoch && one.sequence > other.sequence);
}

/** Makes a witness that says only this, in the place of one that may be there. */
export function replaceWitness(storeFile: string, position: Position): void {
  replaceFileSync(witnessFileOf(storeFile), formatWitness(position), { mode: 0o600 });
}

/** Creates a witness if absent; of several processes that do so at once, one does. */
export function createWitness(storeFile: string, position: Position): void {
  const file = witnessFileOf(storeFile);
  try {
    createFileSync(file, formatWitness(position), { mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    // Its creator may not have synced the name yet, and writes to it count at once.
    syncNameOf(file);
  }
}

function formatWitness(position: Position): Buffer {
  const bytes = Buffer.alloc(places * placeBytes, '\n');
  writePlace(position, bytes.subarray((position.sequence % places) * placeBytes));
  return bytes;
}

/** Writes the witness of a store that is open for changes. */
export class WitnessWriter {
  readonly #storeFile: string;
  /** The place that was read last. */
  readonly #said = Buffer.alloc(placeBytes);
  /** All places as this process wrote them last: what is still so needs no reading. */
  readonly #own = Buffer.alloc(places * placeBytes);
  #descriptor: number;

  /** The witness must exist. */
  constructor(storeFile: string) {
    this.#storeFile = storeFile;
    this.#descriptor = openSync(witnessFileOf(storeFile), 'r+');
  }

  /** Writes and syncs the position. Throws errors of the system. */
  write(position: Position): void {
    const at = (position.sequence % places) * placeBytes;
    const read = readSync(this.#descriptor, this.#said, 0, placeBytes, at);
    const own = this.#own.subarray(at, at + placeBytes);
    const said = this.#said.subarray(0, read);
    const others = said.equals(own) ? undefined : parsePlace(said);
    if (others === undefined || isFurther(position, others)) {
      writePlace(position, own);
      writeSync(this.#descriptor, own, 0, placeBytes, at);
    }
    fdatasyncSync(this.#descriptor);
    // The file was removed or replaced: the bytes were written to an orphan.
    if (!this.#isInPlace()) this.#restore(position);
  }

  #isInPlace(): boolean {
    const { dev, ino } = fstatSync(this.#descriptor);
    const inPlace = fileIdentity(witnessFileOf(this.#storeFile));
    return inPlace?.device === dev && inPlace.inode === ino;
  }

  /** Several processes may do so at once: the file that one of them made takes what the others say. */
  #restore(position: Position): void {
    createWitness(this.#storeFile, position);
    const descriptor = openSync(witnessFileOf(this.#storeFile), 'r+');
    closeSync(this.#descriptor);
    this.#descriptor = descriptor;
    this.write(position);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** Writes a readable line with its own checksum, and empty lines up to the size of a place. */
function writePlace({ epoch, sequence, head }: Position, place: Buffer): void {
  const said = JSON.stringify({ epoch, sequence, head });
  const end = place.write(`${said} ${checksum(said)}`, 'latin1');
  blank.copy(place, end, end);
}

function parsePlace(bytes: Buffer): Position | undefined {
  const end = bytes.indexOf('\n');
  if (bytes.length !== placeBytes || end < 0 || bytes.compare(blank, end, placeBytes, end) !== 0) return undefined;
  const [, said = '', sum] = /^(\{.*\}) ([0-9a-f]{64})$/.exec(bytes.toString('latin1', 0, end)) ?? [];
  if (sum !== checksum(said)) return undefined;
  return positionSchema.parse(JSON.parse(said));
}

function checksum(said: string): string {
  return hash('sha256', `signet witness\0${said}`, 'hex');
}
