import { type Clock, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { type DestinationStream, type Logger, type LoggerOptions, pino, symbols } from 'pino';
import { shortLine } from './short-text.ts';

export type { Logger } from 'pino';

/** Lines are written together once there is this much of them, in bytes, and at the latest after `flushMs`. */
const flushBytes = 16_000;
const flushMs = 200;
/** What waits while nothing can be written, as on a full disk, in bytes; lines beyond it are counted and lost. */
const waitingBytes = 1_000_000;

/** Of all loggers of this process. */
let lostInAll = 0;

/** How many lines this process could not write. */
export function lostLines(): number {
  return lostInAll;
}

/**
 * One JSON line an event on standard error, so that standard output stays for what a command answers. A write for every
 * request would cost a tenth of a token, so lines are gathered for a moment; what is left is written when the process ends.
 */
export function createLogger(
  level: string,
  destination: DestinationStream | 2 = 2,
  clock: Clock = systemClock,
): Logger {
  const options = {
    level,
    base: null,
    timestamp: timestamps(clock),
    formatters: { level: (label: string) => ({ level: label }), log: shortLine },
  };
  return destination === 2 ? standardErrorLogger(options) : pino(options, destination);
}

/** Writes one line of a level; `members` is JSON text that begins with a comma: `,"status":200`. */
type LineWriter = (level: 'info' | 'error', members: string) => void;

/**
 * Lines with this message as the logger writes them, for the most frequent ones: level, time and stream are those of the logger. Whoever
 * calls it composes the members, which are short.
 */
export function lineWriter(logger: Logger, message: string): LineWriter {
  const own = logger as unknown as LoggerParts;
  const end = `,"msg":${JSON.stringify(message)}}\n`;
  return (level, members) => {
    if (!logger.isLevelEnabled(level)) return;
    const begin = own[symbols.lsCacheSym][logger.levels.values[level] ?? 0];
    own[symbols.streamSym].write(`${begin}${own[symbols.timeSym]()}${own[symbols.chindingsSym]}${members}${end}`);
  };
}

/** What a logger of pino is made of (`pino.symbols`). */
interface LoggerParts {
  /** How a line begins, by the number of its level. */
  readonly [symbols.lsCacheSym]: Readonly<Record<number, string>>;
  readonly [symbols.timeSym]: () => string;
  readonly [symbols.chindingsSym]: string;
  readonly [symbols.streamSym]: DestinationStream;
}

/** A log that cannot be written costs lines and nothing else: it is tried again, and in the end said how many are lost. */
function standardErrorLogger(options: LoggerOptions): Logger {
  const stream = pino.destination({
    dest: 2,
    sync: false,
    minLength: flushBytes,
    maxLength: waitingBytes,
    contentMode: 'buffer',
  });
  const logger = pino(options, stream);
  let waiting = 0;
  let lost = 0;
  let failing = false;
  let willFlush = false;
  // While something waits, and not for ever: a flush of nothing is a write of nothing, by a thread.
  const flushSoon = () => {
    if (willFlush) return;
    willFlush = true;
    setTimeout(() => {
      willFlush = false;
      if (waiting === 0) return;
      stream.flush();
      flushSoon();
    }, flushMs).unref();
  };
  // Bytes are what it takes in this mode: the length of a text that waits would be counted again with each line.
  const write = stream.write.bind(stream) as unknown as (line: Buffer) => boolean;
  stream.write = (line) => {
    const bytes = Buffer.from(line);
    waiting += bytes.length;
    flushSoon();
    return write(bytes);
  };
  stream.on('error', () => {
    failing = true;
  });
  stream.on('drop', (line) => {
    waiting -= line.length;
    lost += 1;
    lostInAll += 1;
  });
  stream.on('write', (bytes) => {
    waiting -= bytes;
    failing = false;
  });
  // Not sooner: there would be no room for this line either.
  stream.on('drain', () => {
    if (lost === 0) return;
    const lines = lost;
    lost = 0;
    logger.error({ lines }, 'lines of the log were lost, it could not be written');
  });
  const { flushSync } = stream;
  // Asked when the process ends, it would try until there is space: whether there is some now is seen just before.
  process.once('beforeExit', () => stream.flush());
  stream.flushSync = () => {
    if (!failing) flushSync.call(stream);
  };
  return logger;
}

/** The member `time` of each line. What stays the same within a second is made once. */
function timestamps(clock: Clock): () => string {
  let second = Number.NaN;
  let start = '';
  return () => {
    const now = clock.now();
    const milliseconds = now % 1000;
    if (now - milliseconds !== second) {
      second = now - milliseconds;
      // Without the three digits and the Z.
      start = `,"time":"${formatTimestamp(second).slice(0, -4)}`;
    }
    return `${start}${String(milliseconds).padStart(3, '0')}Z"`;
  };
}
