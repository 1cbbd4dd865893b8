import type { Clock } from '@signet/policy-engine/clock';
import { createProgramLog } from '@signet/policy-engine/internal/log';
import { type DestinationStream, type Logger, pino, symbols } from 'pino';
import { shortLine } from './short-text.ts';

export type { Logger } from 'pino';

/** The log of the server and of commands that stay; lines are short. Default destination: standard error. */
export function createLogger(level: string, stream?: DestinationStream, clock?: Clock): Logger {
  return createProgramLog(
    { create: pino<never, boolean>, destination: pino.destination },
    { level, stream, shorten: shortLine, ...(clock !== undefined && { clock }) },
  );
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
