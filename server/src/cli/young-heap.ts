import { getHeapSpaceStatistics, getHeapStatistics, setFlagsFromString } from 'node:v8';
import { processEnvironment } from '../config/env.ts';

/* The space of V8 for young objects. Loading a program makes it grow to 64 MiB, which a server would hold from then on, and requests need little of
   it. A size that the operator has set (`--max-semi-space-size`, also in `NODE_OPTIONS`) counts instead of all this. */

/**
 * Size of one of its two halves. Half of it makes a token a twentieth dearer; twice of it makes one a fiftieth cheaper, and takes 6 to 14 MiB
 * more.
 */
const enoughBytes = 4 * 2 ** 20;

/** While a server starts: it stays as small as it is. */
export function keepYoungHeapSmall(): void {
  if (!isGiven()) growBy(1);
}

/** Loading the program and a small store takes less than this of the whole heap. */
const largeStoreBytes = 48 * 2 ** 20;
/** Size for loading a large store: everything read stays alive, and a small space would be emptied, and its objects moved, a thousand times. */
const loadingBytes = 8 * 2 ** 20;
const loadingLookEveryMs = 10;

/**
 * Grows the space while `work` loads a store that turns out to be large; V8 shrinks it again afterwards. Old objects are marked in one stop when
 * necessary: incremental marking would visit what is just being made again and again, and no client waits yet. Throws what `work` throws.
 */
export async function growYoungHeapWithStore<Result>(work: () => Promise<Result>): Promise<Result> {
  if (isGiven()) return await work();
  setFlagsFromString('--no-incremental-marking');
  const look = () => growBy(usedBytes() > largeStoreBytes && halfBytes() < loadingBytes ? 2 : 1);
  const looking = setInterval(look, loadingLookEveryMs);
  try {
    return await work();
  } finally {
    clearInterval(looking);
    growBy(1);
    setFlagsFromString('--incremental-marking');
  }
}

/**
 * Bounds growth from then on: at the next need for more the space grows to what is enough; V8 shrinks it again when there is little to do.
 * Checked after each collection, the only time when its size changes: a check by the clock lets it grow several times at once, or leaves it
 * where it was.
 */
export function boundYoungHeap(): void {
  if (isGiven()) return;
  const look = () => growBy(Math.max(1, Math.round(enoughBytes / halfBytes())));
  // The global one: an import would be loaded by every command.
  new PerformanceObserver(look).observe({ type: 'gc' });
  look();
}

function isGiven(): boolean {
  const options = [...process.execArgv, processEnvironment()['NODE_OPTIONS'] ?? ''];
  return options.some((word) => word.includes('semi-space') || word.includes('incremental-marking'));
}

/** Sets V8's growth factor when much of it stays alive. */
function growBy(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
}

function usedBytes(): number {
  return getHeapStatistics().used_heap_size;
}

/** Allocation limit before a collection; the other half comes and goes. */
function halfBytes(): number {
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  return young === undefined ? enoughBytes : young.space_used_size + young.space_available_size;
}
