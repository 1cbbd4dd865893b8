import { type DestinationStream, type Logger, pino } from 'pino';

export type { Logger } from 'pino';

/** One JSON line an event on standard error, so that standard output stays for what a command answers. */
export function createLogger(level: string, destination: DestinationStream | 2 = 2): Logger {
  const stream = destination === 2 ? pino.destination({ dest: 2, sync: true }) : destination;
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  );
}
