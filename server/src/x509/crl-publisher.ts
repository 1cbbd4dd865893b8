import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import { NotFoundError } from '../errors.ts';
import type { CertificateStore } from '../model/certificate-store.ts';
import { type Pace, signingTurns } from '../signing-turns.ts';
import { buildCrl, crlToPem } from './crl.ts';
import type { Issuer } from './issuer.ts';
import type { Issuers } from './issuers.ts';
import type { LiveRevocations } from './live-revocations.ts';

/** A published revocation list. Times in seconds since the epoch. */
interface PublishedCrl {
  readonly pem: string;
  readonly number: number;
  readonly thisUpdate: number;
  readonly nextUpdate: number;
}

interface CrlPublisherDeps {
  readonly issuers: Pick<Issuers, 'current'>;
  readonly revocations: Pick<LiveRevocations, 'ofIssuer' | 'sequence'>;
  readonly certificates: Pick<CertificateStore, 'nextCrlNumber'>;
  readonly clock: Clock;
  /** How long a list is good for. It is reissued after half of that, or when something was revoked. */
  readonly lifetimeSeconds: number;
  readonly pace?: Pace | undefined;
}

/** The revocation lists of all issuers, the draining ones included; each is signed once a second at most. */
export interface CrlPublisher {
  /** The list of an issuer by its id, or of the first active one. Throws `NotFoundError`, `StoreUnavailableError`. */
  current(issuer?: string): Promise<PublishedCrl>;
  /** Reissues the lists of all issuers where that is due. Throws `StoreUnavailableError`. */
  renew(): Promise<void>;
  /** How much of its life the oldest list in use has left, between 0 and 1: an alarm belongs at one half. */
  freshness(): number;
}

/** For clocks of readers that are behind. */
const backdateSeconds = 300;

interface Entry extends PublishedCrl {
  readonly sequence: number;
}

async function publish(deps: CrlPublisherDeps, issuer: Issuer, now: number): Promise<Entry> {
  const { sequence } = deps.revocations;
  const revoked = deps.revocations.ofIssuer(issuer.id).filter(({ notAfter }) => notAfter >= now);
  const number = await deps.certificates.nextCrlNumber(issuer.id);
  const times = { thisUpdate: now - backdateSeconds, nextUpdate: now + deps.lifetimeSeconds };
  return { ...times, number, sequence, pem: await crlToPem(await buildCrl(issuer, { revoked, number, ...times })) };
}

export function createCrlPublisher(deps: CrlPublisherDeps): CrlPublisher {
  const making = new Map<string, Promise<Entry>>();
  const takeTurn = signingTurns<Entry>(deps.pace);
  /** Valid, and nothing was revoked since: as good as a new one while none can be made. */
  const saysAll = (entry: Entry, now: number) =>
    entry.sequence === deps.revocations.sequence && entry.thisUpdate <= now && entry.nextUpdate > now;
  const isFresh = (entry: Entry, now: number) =>
    saysAll(entry, now) && entry.nextUpdate - now > deps.lifetimeSeconds / 2;
  const known = new Map<string, Entry>();
  const make = (issuer: Issuer): Promise<Entry> => {
    const made = publish(deps, issuer, epochSeconds(deps.clock))
      .then((entry) => {
        known.set(issuer.id, entry);
        return entry;
      })
      .finally(() => making.delete(issuer.id));
    making.set(issuer.id, made);
    return made;
  };
  const current = async (issuer: Issuer): Promise<Entry> => {
    const last = known.get(issuer.id);
    if (last !== undefined && isFresh(last, epochSeconds(deps.clock))) return last;
    const { sequence } = deps.revocations;
    const begun = making.get(issuer.id);
    // One that was begun before the caller's revocation does not hold it.
    if (begun !== undefined) return (await begun).sequence >= sequence ? begun : current(issuer);
    return takeTurn(issuer.id, 'list', () => make(issuer));
  };
  return {
    current: (id) => {
      const { active, draining } = deps.issuers.current();
      const issuer = id === undefined ? active[0] : [...active, ...draining].find((candidate) => candidate.id === id);
      if (issuer === undefined) return Promise.reject(new NotFoundError('there is no such issuer'));
      return current(issuer).catch((error: unknown) => {
        const last = known.get(issuer.id);
        if (last !== undefined && saysAll(last, epochSeconds(deps.clock))) return last;
        throw error;
      });
    },
    renew: async () => {
      const { active, draining } = deps.issuers.current();
      for (const issuer of [...active, ...draining]) await current(issuer);
    },
    freshness: () => {
      const now = epochSeconds(deps.clock);
      const { active, draining } = deps.issuers.current();
      const inUse = [...active, ...draining].flatMap(({ id }) => known.get(id) ?? []);
      const left = inUse.map((entry) => (entry.nextUpdate - now) / deps.lifetimeSeconds);
      return Math.max(0, Math.min(1, ...left));
    },
  };
}
