import { type Clock, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/** Lines are written together once there is this much of them, in bytes, and at the latest after `flushMs`. */
const flushBytes = 16_000;
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
