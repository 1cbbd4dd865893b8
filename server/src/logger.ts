import { type Clock, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/** Lines are written together once there is this much of them, in bytes, and at the latest after `flushMs`. */
const flushBytes = 4096;
const flushMs = 200;

/**
 * One JSON line an event on standard error, so that standard output stays for what a command answers. A write for every
 * request would cost a tenth of a token, so lines are gathered for a moment; what is left is written when the process ends.
 */
export function createLogger(
  level: string,
  destination: DestinationStream | 2 = 2,
  clock: Clock = systemClock,
): Logger {
  const stream =
    destination === 2
      ? pino.destination({ dest: 2, sync: false, minLength: flushBytes, periodicFlush: flushMs })
      : destination;
  return pino(
    {
      level,
      base: null,
      timestamp: timestamps(clock),
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  );
}

/** The member `time` of each line. The text of a millisecond is made once. */
function timestamps(clock: Clock): () => string {
  let last = Number.NaN;
  let text = '';
  return () => {
    const now = clock.now();
    if (now !== last) text = `,"time":"${formatTimestamp(now)}"`;
    last = now;
    return text;
  };
}
