import type { CallersTime } from '../http/caller-clocks.ts';
import type { Logger } from '../logger.ts';
import type { ClockJudgement } from '../store-watch/store-watch.ts';

const acceptIt = 'if it is right, run `signet store accept-clock --reason REASON`';

/** Level and text of the log line for each source that tells of a wrong clock; `error` makes the server unready. */
const texts = {
  database: ['error', 'the clock differs from that of the database: not ready until it is corrected'],
  records: ['error', `the clock is behind records of this server: not ready until it is corrected; ${acceptIt}`],
  peers: ['warn', `the clock is behind the newest record of another server: one of the two is wrong; ${acceptIt}`],
} as const;

const agrees = ['info', 'the clock agrees with the store again'] as const;

export function logClock({ witness, aheadMs }: ClockJudgement, logger: Pick<Logger, 'error' | 'warn' | 'info'>): void {
  const [level, text] = witness === undefined ? agrees : texts[witness];
  logger[level](
    {
      ...(witness !== undefined && { clock: witness }),
      ...(aheadMs !== undefined && { aheadSeconds: Math.round(aheadMs / 1000) }),
    },
    text,
  );
}

export function logCallers({ disagrees, ...counts }: CallersTime, logger: Pick<Logger, 'warn' | 'info'>): void {
  if (disagrees)
    logger.warn(
      { clock: 'callers', ...counts },
      'the clocks of most callers in the last minute differ: check the clock',
    );
  else logger.info(counts, 'the clocks of most callers agree again');
}
