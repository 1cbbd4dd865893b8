import { hash } from 'node:crypto';
import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import { NotFoundError } from '../errors.ts';
import type { CertificateStore, LastCrl, PublishedCrl } from '../model/certificate-store.ts';
import { type Pace, signingTurns } from '../turns/signing-turns.ts';
import { buildCrl, crlBackdateSeconds, crlToPem, nextCrlNumber } from './crl.ts';
import { isCrlOf, readCrl } from './crl-reader.ts';
import type { Issuer } from './issuer.ts';
import type { IssuerSet, Issuers } from './issuers.ts';
import type { LiveRevocations } from './live-revocations.ts';
import type { RootList } from './root-lists.ts';

/** A revocation list as it is given out. Times in seconds since the epoch. */
export interface GivenCrl {
  /** Number of the list; that of a foreign root may be rounded. */
  readonly number: number;
  readonly thisUpdate: number;
  readonly nextUpdate: number;
  readonly der: Buffer;
  /** SHA-256 of it, base64url. */
  readonly digest: string;
  /** The same in PEM form; made once. */
  pem(): Promise<string>;
}

interface CrlPublisherDeps {
  readonly issuers: Pick<Issuers, 'current'>;
  readonly revocations: Pick<LiveRevocations, 'ofIssuer' | 'sequence' | 'rereadAt'>;
  readonly certificates: Pick<CertificateStore, 'endedRevocations' | 'lastCrl' | 'publishCrl'>;
  readonly clock: Clock;
  /** Life of a list. It is reissued after half of that, or after a revocation. */
  readonly lifetimeSeconds: number;
  readonly pace?: Pace | undefined;
}

/**
 * The revocation lists of all issuers, the draining ones included, and those of the roots. That of an issuer is signed once a second at most;
 * all servers of a store give out the same one.
 */
export interface CrlPublisher {
  /** The list of an issuer or a root by its id, or of the first active issuer. Throws `NotFoundError`, `StoreUnavailableError`. */
  current(issuer?: string): Promise<GivenCrl>;
  /** The lists of all issuers, then those of the roots: what a verifier needs who checks whole chains. Throws `StoreUnavailableError`. */
  all(): Promise<readonly GivenCrl[]>;
  /** Reissues the lists of all issuers where that is due. Throws `StoreUnavailableError`. */
  renew(): Promise<void>;
  /** Remaining share of the oldest list's life, between 0 and 1: an alarm belongs at one half. */
  freshness(): number;
  /** Expiry of the first of the lists in use, in seconds since the epoch; undefined before there is one. */
  expiry(): number | undefined;
}

/** Lists of roots live for years: of those only the last month counts. */
const rootNoticeSeconds = 30 * 86_400;

interface Entry extends GivenCrl {
  readonly sequence: number;
}

function given<Crl extends Pick<PublishedCrl, 'number' | 'thisUpdate' | 'nextUpdate' | 'der'>>(crl: Crl) {
  let pem: Promise<string> | undefined;
  return {
    ...crl,
    digest: hash('sha256', crl.der, 'base64url'),
    pem: () => {
      pem ??= crlToPem(crl.der);
      return pem;
    },
  };
}

/** List that another server has put into the store; undefined if this issuer has not signed it. */
function taken(last: LastCrl | undefined, issuer: Issuer): Entry | undefined {
  const { der } = last ?? {};
  if (last === undefined || der === undefined || !isCrlOf(readCrl(der), issuer)) return undefined;
  return given({ ...last, der });
}

function issuersIn({ active, draining }: IssuerSet): readonly Issuer[] {
  return [...active, ...draining];
}

/** Publishes the next list; undefined when another server did so since `last` was read. */
async function publish(
  { revocations, certificates, clock, lifetimeSeconds }: CrlPublisherDeps,
  issuer: Issuer,
  last: LastCrl | undefined,
): Promise<Entry | undefined> {
  const now = epochSeconds(clock);
  const { sequence } = revocations;
  const times = { thisUpdate: now - crlBackdateSeconds, nextUpdate: now + lifetimeSeconds };
  // RFC 5280 §3.3: an entry stays until it has stood on a list that was issued after the end of its certificate.
  const onEveryListSince = Math.min(last?.thisUpdate ?? 0, times.thisUpdate);
  const ended = await certificates.endedRevocations(issuer.id, onEveryListSince, now);
  const revoked = [...ended, ...revocations.ofIssuer(issuer.id).filter(({ notAfter }) => notAfter >= now)];
  const number = nextCrlNumber(BigInt(last?.number ?? 0), now);
  const der = await buildCrl(issuer, { revoked, number, ...times });
  const crl = { ...times, number: Number(number), sequence, der };
  return (await certificates.publishCrl(issuer.id, crl, last?.number)) ? given(crl) : undefined;
}

export function createCrlPublisher(deps: CrlPublisherDeps): CrlPublisher {
  const making = new Map<string, Promise<Entry>>();
  const takeTurn = signingTurns<Entry>(deps.pace);
  /** Valid, and nothing was revoked since: as good as a new one while none can be made. */
  const saysAll = (entry: Entry, now: number) =>
    isOfThisHistory(entry, deps.revocations) &&
    entry.sequence >= deps.revocations.sequence &&
    entry.thisUpdate <= now &&
    entry.nextUpdate > now;
  const isFresh = (entry: Entry | undefined): entry is Entry => {
    const now = epochSeconds(deps.clock);
    return entry !== undefined && saysAll(entry, now) && entry.nextUpdate - now > deps.lifetimeSeconds / 2;
  };
  const known = new Map<string, Entry>();
  // INVARIANT: the store is queried each time: the numbers that a client sees never fall, whichever server answers.
  const look = async (issuer: Issuer): Promise<{ readonly last: LastCrl | undefined; readonly entry?: Entry }> => {
    const before = known.get(issuer.id);
    const last = await deps.certificates.lastCrl(issuer.id, before?.number);
    const entry = before !== undefined && last?.number === before.number ? before : taken(last, issuer);
    if (entry === undefined) return { last };
    known.set(issuer.id, entry);
    return { last, entry };
  };
  const makeOrTake = async (issuer: Issuer): Promise<Entry> => {
    for (;;) {
      const { last, entry } = await look(issuer);
      if (isFresh(entry)) return entry;
      const made = await publish(deps, issuer, last);
      if (made === undefined) continue;
      known.set(issuer.id, made);
      return made;
    }
  };
  const make = (issuer: Issuer): Promise<Entry> => {
    const made = makeOrTake(issuer).finally(() => making.delete(issuer.id));
    making.set(issuer.id, made);
    return made;
  };
  const current = async (issuer: Issuer): Promise<Entry> => {
    const { sequence } = deps.revocations;
    const { entry } = await look(issuer);
    if (isFresh(entry)) return entry;
    const begun = making.get(issuer.id);
    // A list begun before the caller's revocation does not contain it.
    if (begun !== undefined) return (await begun).sequence >= sequence ? begun : current(issuer);
    return takeTurn(issuer.id, 'list', () => make(issuer));
  };
  const usable = (issuer: Issuer): Promise<Entry> =>
    current(issuer).catch((error: unknown) => {
      const last = known.get(issuer.id);
      if (last !== undefined && saysAll(last, epochSeconds(deps.clock))) return last;
      throw error;
    });
  const rootLists = rootListsOf(deps.issuers);
  const inUse = () => issuersIn(deps.issuers.current()).flatMap(({ id }) => known.get(id) ?? []);
  return {
    current: async (id) => {
      const set = deps.issuers.current();
      const issuer = id === undefined ? set.active[0] : issuersIn(set).find((candidate) => candidate.id === id);
      if (issuer !== undefined) return usable(issuer);
      const root = rootLists().find((list) => list.id === id);
      if (root === undefined) throw new NotFoundError('there is no such issuer');
      return root;
    },
    all: async () => [...(await Promise.all(issuersIn(deps.issuers.current()).map(usable))), ...rootLists()],
    renew: async () => {
      for (const issuer of issuersIn(deps.issuers.current())) await current(issuer);
    },
    freshness: () => {
      const now = epochSeconds(deps.clock);
      const left = inUse().map((entry) => (entry.nextUpdate - now) / deps.lifetimeSeconds);
      return Math.max(0, Math.min(1, ...left, ...rootLists().map((list) => rootFreshness(list, now))));
    },
    expiry: () => firstEnd([...inUse(), ...rootLists()]),
  };
}

function firstEnd(lists: readonly GivenCrl[]): number | undefined {
  return lists.length === 0 ? undefined : Math.min(...lists.map(({ nextUpdate }) => nextUpdate));
}

/** The same number may be that of another revocation in a list that was made before the store had another history. */
function isOfThisHistory({ thisUpdate }: Entry, { rereadAt }: Pick<LiveRevocations, 'rereadAt'>): boolean {
  return rereadAt === 0 || thisUpdate + crlBackdateSeconds > rereadAt;
}

function rootFreshness({ thisUpdate, nextUpdate }: GivenCrl, now: number): number {
  return (nextUpdate - now) / Math.min(rootNoticeSeconds, nextUpdate - thisUpdate);
}

/** The lists of the roots in force, as they are given out; made once for each set of issuers. */
function rootListsOf(issuers: Pick<Issuers, 'current'>): () => readonly (GivenCrl & RootList)[] {
  let made: { readonly of: readonly RootList[]; readonly lists: readonly (GivenCrl & RootList)[] } | undefined;
  return () => {
    const { rootLists } = issuers.current();
    if (made?.of !== rootLists) made = { of: rootLists, lists: rootLists.map((list) => given(list)) };
    return made.lists;
  };
}
