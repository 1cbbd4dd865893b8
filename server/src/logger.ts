import type { Clock } from '@signet/policy-engine/clock';
import { createProgramLog } from '@signet/policy-engine/internal/log';
import { type DestinationStream, type Logger, pino } from 'pino';
import { shortLine } from './base/short-text.ts';

export type { Logger } from 'pino';

/** The log of the server and of commands that stay; lines are short. Default destination: standard error. */
export function createLogger(level: string, stream?: DestinationStream, clock?: Clock): Logger {
  return createProgramLog(
    { create: pino<never, boolean>, destination: pino.destination },
    { level, stream, shorten: shortLine, ...(clock !== undefined && { clock }) },
  );
}
