import { type Logger, pino, stdTimeFunctions } from 'pino';

/** Lines as docs/reference/logs.md has them, on standard error. A log that cannot be written costs lines and nothing else. */
export function createLogger(level: string): Logger {
  const lines = pino.destination({ dest: 2, sync: true, maxLength: 1_000_000 });
  lines.on('error', () => undefined);
  const formatters = { level: (label: string) => ({ level: label }) };
  return pino({ level, base: null, timestamp: stdTimeFunctions.isoTime, formatters }, lines);
}
