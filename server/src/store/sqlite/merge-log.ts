/*
 * The log of SQLite (write-ahead log), merged into its database in memory: what SQLite itself does when it opens a store, for a disk on which
 * it cannot make the file that it shares the index of the log in. https://www.sqlite.org/fileformat2.html#the_write_ahead_log
 */

const logHeaderBytes = 32;
const frameHeaderBytes = 24;
const magicLittleEndian = 0x377f0682;

interface Log {
  readonly bytes: Buffer;
  readonly pageSize: number;
  /** Byte order of the 32-bit words that checksums are over; the fields themselves are big-endian. */
  readonly isBigEndian: boolean;
}

type Sums = readonly [number, number];

/**
 * The database with every transaction of the log that was committed whole, as a database without a log: `new Database(buffer)` reads it.
 * `log` may be empty, cut off or garbled; what follows the first frame that does not fit does not count, as in SQLite.
 */
export function mergeLog(database: Buffer, log: Buffer): Buffer {
  const merged = mergeFrames(database, readLogHeader(log));
  // Readers must not look for a log.
  if (merged.length > 19) merged.fill(1, 18, 20);
  return merged;
}

function readLogHeader(bytes: Buffer): Log | undefined {
  if (bytes.length < logHeaderBytes) return undefined;
  const magic = bytes.readUInt32BE(0);
  if ((magic & ~1) >>> 0 !== magicLittleEndian) return undefined;
  const log = { bytes, pageSize: bytes.readUInt32BE(8), isBigEndian: (magic & 1) === 1 };
  const fits = sameSums(addSums(log, [0, 0], 0, 24), bytes, 24);
  const isPageSize = log.pageSize >= 512 && log.pageSize <= 65_536 && (log.pageSize & (log.pageSize - 1)) === 0;
  return fits && isPageSize ? log : undefined;
}

function mergeFrames(database: Buffer, log: Log | undefined): Buffer {
  if (log === undefined) return Buffer.from(database);
  const { pages, pageCount } = committedPages(log);
  if (pageCount === undefined) return Buffer.from(database);
  const merged = Buffer.alloc(pageCount * log.pageSize);
  database.copy(merged, 0, 0, Math.min(database.length, merged.length));
  for (const [page, at] of pages) {
    if (page <= pageCount) log.bytes.copy(merged, (page - 1) * log.pageSize, at, at + log.pageSize);
  }
  return merged;
}

/** Positions in the log of each page's newest committed form, and the size of the database after the last commit. */
function committedPages(log: Log): { readonly pages: ReadonlyMap<number, number>; readonly pageCount?: number } {
  const { bytes, pageSize } = log;
  const pages = new Map<number, number>();
  let pending = new Map<number, number>();
  let pageCount: number | undefined;
  let sums = addSums(log, [0, 0], 0, 24);
  for (let at = logHeaderBytes; at + frameHeaderBytes + pageSize <= bytes.length; at += frameHeaderBytes + pageSize) {
    // The salts of the frame are those of the header: else it was left by an earlier use of the file.
    if (bytes.compare(bytes, 16, 24, at + 8, at + 16) !== 0) break;
    sums = addSums(log, sums, at, at + 8);
    sums = addSums(log, sums, at + frameHeaderBytes, at + frameHeaderBytes + pageSize);
    if (!sameSums(sums, bytes, at + 16)) break;
    pending.set(bytes.readUInt32BE(at), at + frameHeaderBytes);
    const size = bytes.readUInt32BE(at + 4);
    if (size === 0) continue;
    for (const [page, place] of pending) pages.set(page, place);
    pending = new Map();
    pageCount = size;
  }
  return { pages, ...(pageCount !== undefined && { pageCount }) };
}

function sameSums([one, two]: Sums, bytes: Buffer, at: number): boolean {
  return bytes.readUInt32BE(at) === one && bytes.readUInt32BE(at + 4) === two;
}

function addSums({ bytes, isBigEndian }: Log, [first, second]: Sums, from: number, to: number): Sums {
  let [one, two] = [first, second];
  for (let at = from; at < to; at += 8) {
    one = (one + (isBigEndian ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at)) + two) >>> 0;
    two = (two + (isBigEndian ? bytes.readUInt32BE(at + 4) : bytes.readUInt32LE(at + 4)) + one) >>> 0;
  }
  return [one, two];
}
