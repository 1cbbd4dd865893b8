import { type Clock, formatTimestamp, systemClock } from './clock.ts';
import { countLostLine, readersMs, setOutputNonBlocking } from './program-output.ts';

/** Lines are written together once there is this much of them, in bytes, and at the latest after `flushMs`. */
const flushBytes = 16_000;
const flushMs = 20;
/** Bytes that wait while the log cannot be written, as on a full disk or in a full pipe; lines beyond it are counted and lost. */
const waitingBytes = 1_000_000;

/** Destination of the log: a stream of the package `sonic-boom`, which comes with `pino`. */
interface Destination {
  write(line: string): unknown;
  flush(): void;
  flushSync(): void;
  removeAllListeners(event: 'error'): unknown;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
  on(event: 'drop', listener: (line: Buffer) => void): unknown;
  on(event: 'write', listener: (bytes: number) => void): unknown;
  on(event: 'drain', listener: () => void): unknown;
}

/** Functions of the package `pino`, which is a dependency of the programs and not of the engine. */
interface Pino<Log> {
  readonly create: (options: LineOptions, stream: { write(line: string): void }) => Log;
  readonly destination: (options: object) => Destination;
}

interface LineOptions {
  readonly level: string;
  readonly base: null;
  readonly timestamp: () => string;
  readonly formatters: {
    readonly level: (label: string) => { level: string };
    readonly log?: (members: Record<string, unknown>) => Record<string, unknown>;
  };
}

interface LogOptions {
  readonly level: string;
  /** Default: the machine's. */
  readonly clock?: Clock;
  /** Shortens the members of a line. */
  readonly shorten?: (members: Record<string, unknown>) => Record<string, unknown>;
  /** Default: standard error. */
  readonly stream?: { write(line: string): void } | undefined;
}

interface ErrorLog {
  error(members: object, message: string): void;
}

/**
 * Log of a program: one JSON line an event on standard error, so that standard output stays for answers. A write for every request would cost a
 * tenth of a token, so lines are gathered for a moment; those left are written when the process ends.
 */
export function createProgramLog<Log extends ErrorLog>(
  pino: Pino<Log>,
  { level, clock = systemClock, shorten, stream }: LogOptions,
): Log {
  const options: LineOptions = {
    level,
    base: null,
    timestamp: timestamps(clock),
    formatters: { level: (label) => ({ level: label }), ...(shorten !== undefined && { log: shorten }) },
  };
  if (stream !== undefined) return pino.create(options, stream);
  const lost = { lines: 0 };
  const destination = standardError(pino, lost);
  const log = pino.create(options, destination);
  // Reported only after a drain: earlier this line would be dropped too.
  destination.on('drain', () => {
    const { lines } = lost;
    if (lines === 0) return;
    lost.lines = 0;
    log.error({ lines }, 'lines of the log were lost, it could not be written');
  });
  return log;
}

/** Standard error as a destination that retries failed writes, counts the lines it drops, and never blocks. */
function standardError(pino: Pino<unknown>, lost: { lines: number }): Destination {
  let giveUpAt = Number.NEGATIVE_INFINITY;
  const stream = pino.destination({
    dest: 2,
    sync: false,
    minLength: flushBytes,
    maxLength: waitingBytes,
    contentMode: 'buffer',
    // A full pipe is a failed write until the process ends; retries by the stream itself would keep the process alive.
    retryEAGAIN: () => {
      setOutputNonBlocking();
      return performance.now() < giveUpAt;
    },
  });
  let waiting = 0;
  let failing = false;
  let willFlush = false;
  // Flushes only while bytes wait: a flush of nothing is a write of nothing, by a thread.
  const flushSoon = () => {
    if (willFlush) return;
    willFlush = true;
    setTimeout(() => {
      willFlush = false;
      if (waiting === 0) return;
      setOutputNonBlocking();
      stream.flush();
      flushSoon();
    }, flushMs).unref();
  };
  // Bytes are the type that this mode takes: the length of a text that waits would be counted again with each line.
  const write = stream.write.bind(stream) as unknown as (line: Buffer) => boolean;
  stream.write = (line) => {
    const bytes = Buffer.from(line);
    waiting += bytes.length;
    if (waiting >= flushBytes) setOutputNonBlocking();
    flushSoon();
    return write(bytes);
  };
  // The listener of pino ignores all lines after a broken pipe without counting them.
  stream.removeAllListeners('error');
  stream.on('error', ({ code }) => {
    failing = code !== 'EAGAIN';
  });
  stream.on('drop', (line) => {
    waiting -= line.length;
    lost.lines += 1;
    countLostLine();
  });
  stream.on('write', (bytes) => {
    waiting -= bytes;
    failing = false;
  });
  const { flushSync } = stream;
  process.once('beforeExit', () => {
    setOutputNonBlocking();
    stream.flush();
  });
  // Called when the process ends. With other errors than a full pipe it would retry until there is space.
  stream.flushSync = () => {
    if (failing) return;
    giveUpAt = performance.now() + readersMs;
    setOutputNonBlocking();
    try {
      flushSync.call(stream);
    } catch {
      // Timeout: the output was not read.
    }
  };
  return stream;
}

/** The member `time` of each line. The part that stays the same within a second is made once. */
function timestamps(clock: Clock): () => string {
  let second = Number.NaN;
  let start = '';
  return () => {
    const now = clock.now();
    const milliseconds = now % 1000;
    if (now - milliseconds !== second) {
      second = now - milliseconds;
      // Timestamp without the three digits and the Z.
      start = `,"time":"${formatTimestamp(second).slice(0, -4)}`;
    }
    return `${start}${String(milliseconds).padStart(3, '0')}Z"`;
  };
}
