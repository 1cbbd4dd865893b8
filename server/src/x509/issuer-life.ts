import { type Clock, epochSeconds, formatTimestamp } from '@signet/policy-engine/clock';
import type { Logger } from '../logger.ts';
import type { IssuerSet, Issuers } from './issuers.ts';

/** Life of the issuer that signs new certificates. */
interface IssuerLife {
  /** `late` from the last third of its life on. */
  readonly status: 'fresh' | 'late' | 'ended';
  /** Seconds since the epoch. */
  readonly notAfter: number;
  /** Share of its life that is left, from 0 to 1. */
  readonly left: number;
}

const lateBelow = 1 / 3;

/** The life of the issuer that signs at `now`, in seconds; of the first active one where none is valid. */
export function issuerLife({ active }: Pick<IssuerSet, 'active'>, now: number): IssuerLife | undefined {
  const issuer = active.find(({ notBefore, notAfter }) => notBefore <= now && now <= notAfter) ?? active[0];
  if (issuer === undefined) return undefined;
  const { notBefore, notAfter } = issuer;
  const left = Math.min(1, Math.max(0, (notAfter - now) / (notAfter - notBefore)));
  return { status: left === 0 ? 'ended' : left < lateBelow ? 'late' : 'fresh', notAfter, left };
}

const lookMs = 600_000;
/** Interval of repeated messages about an unchanged state, in milliseconds. */
const repeatMs = 86_400_000;

/** Warns of the end of the issuer that signs: when its last third begins, when it has ended, and once a day. */
export function watchIssuerLife(
  issuers: Pick<Issuers, 'current'>,
  clock: Clock,
  logger: Pick<Logger, 'warn' | 'error'>,
): Disposable {
  let told: { readonly status: string; readonly at: number } | undefined;
  const look = () => {
    const life = issuerLife(issuers.current(), epochSeconds(clock));
    if (life === undefined || life.status === 'fresh') {
      told = undefined;
      return;
    }
    const { status, notAfter, left } = life;
    const now = clock.now();
    if (told?.status === status && Math.abs(now - told.at) < repeatMs) return;
    told = { status, at: now };
    const end = { notAfter: formatTimestamp(notAfter * 1000), left: Math.round(left * 100) / 100 };
    if (status === 'ended') logger.error(end, 'issuing authority has expired: no certificates are issued, replace it');
    else logger.warn(end, 'issuing authority is in the last third of its validity: replace it before it expires');
  };
  look();
  const timer = setInterval(look, lookMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
