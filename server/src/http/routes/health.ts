import type { RouterMiddleware } from '@koa/router';
import { type Clock, epochSeconds, formatTimestamp } from '@signet/policy-engine/clock';
import { InvalidRequestError } from '../../errors.ts';
import type { SigningKeys } from '../../keys/signing-keys.ts';
import { isOperator, systemDomain } from '../../management/rights.ts';
import type { UnreadyReason } from '../../observer.ts';
import type { Divergence } from '../../snapshot/live-snapshot.ts';
import type { Snapshot } from '../../snapshot/snapshot.ts';
import { shownState } from '../../store-watch/store-history.ts';
import type { StoreWatch } from '../../store-watch/store-watch.ts';
import type { CrlPublisher } from '../../x509/crl-publisher.ts';
import { issuerLife } from '../../x509/issuer-life.ts';
import type { Issuers } from '../../x509/issuers.ts';
import { answerJson, type RequestState, type RouteContext } from '../context.ts';
import { parseParameters } from '../parameters.ts';

export interface ReadinessDeps {
  readonly clock: Clock;
  readonly snapshot: () => Snapshot;
  readonly keys: SigningKeys;
  /** Status of the snapshot in force; `error` while the store cannot be read. */
  readonly snapshotStatus: () => {
    readonly counter: number;
    readonly refreshedAt: number;
    readonly error?: string;
    readonly divergence?: Pick<Divergence, 'known' | 'found'>;
  };
  /** Condition of the store for writes, and the own clock compared with the store's records. */
  readonly storeWatch: Pick<StoreWatch, 'condition' | 'clock'>;
  readonly isStopping: () => boolean;
  /** The life of the server's own certificate, in milliseconds since the epoch. */
  readonly certificate: () => { readonly notBefore: number; readonly notAfter: number };
  /** Publisher of revocation lists; absent when no certificates are issued. */
  readonly crls?: Pick<CrlPublisher, 'freshness'> | undefined;
  /** Authorities in use; absent when no certificates are issued. */
  readonly issuers?: Pick<Issuers, 'current'> | undefined;
}

/** `GET /healthz`: the process is alive. */
export const healthRoute: RouterMiddleware<RequestState> = (ctx) => answerJson(ctx, '{"status":"alive"}');

/** State of the own certificate, which is replaced in the last third of its life. */
function ownCertificate({ certificate, clock }: ReadinessDeps): { readonly status: string; readonly notAfter: string } {
  const { notBefore, notAfter } = certificate();
  const left = (notAfter - clock.now()) / (notAfter - notBefore);
  const status = left <= 0 ? 'ended' : left < 0.25 ? 'late' : 'fresh';
  return { status, notAfter: formatTimestamp(notAfter) };
}

/** Life of the issuing authority, which people replace. */
function issuerOf({ issuers, clock }: ReadinessDeps) {
  const life = issuers && issuerLife(issuers.current(), epochSeconds(clock));
  return life && { status: life.status, notAfter: formatTimestamp(life.notAfter * 1000) };
}

/** State of the revocation lists, which are reissued at half of their life: one with less left is a failure that has time to be repaired. */
function revocationLists(crls: Pick<CrlPublisher, 'freshness'>): { readonly status: string; readonly left: number } {
  const left = crls.freshness();
  const status = left === 0 ? 'ended' : left < alarmBelow ? 'late' : 'fresh';
  return { status, left: Math.round(left * 100) / 100 };
}

/** A little below half, so that a list that is being made raises no alarm. */
const alarmBelow = 0.45;

/** Reason why requests belong to another server; `ready` if none. */
export function readinessOf(deps: ReadinessDeps, certificate = ownCertificate(deps).status): UnreadyReason | 'ready' {
  const { token, bundle } = deps.keys.current();
  if (deps.isStopping()) return 'stopping';
  if (token === undefined || bundle === undefined) return 'no-signing-key';
  if (certificate === 'ended') return 'certificate-expired';
  if (deps.storeWatch.clock().state === 'wrong') return 'clock';
  return 'ready';
}

/** True if the server answers, but not everything: changes wait for the store, or one of two clocks is wrong. */
function isDegraded(deps: ReadinessDeps): boolean {
  return storeOf(deps) !== 'readable' || deps.storeWatch.clock().state !== 'fit';
}

/** True if the probe is one of a balancer that sends changes. Throws `InvalidRequestError`. */
function asksForWrites({ querystring }: RouteContext): boolean {
  const purpose = querystring === '' ? undefined : parseParameters(querystring, 'query').get('for');
  if (purpose === undefined || purpose === 'writes') return purpose === 'writes';
  throw new InvalidRequestError('for: must be `writes`');
}

function storeOf({ snapshotStatus, storeWatch }: ReadinessDeps): 'readable' | 'unreadable' | 'read-only' {
  // The text of the failure is for the log.
  if (snapshotStatus().error !== undefined) return 'unreadable';
  return storeWatch.condition() === 'writable' ? 'readable' : 'read-only';
}

/**
 * `GET /readyz`: whether this server can do its work: 200, or 503 while it stops, without a key to sign tokens or bundles with, with a
 * certificate of its own that has expired, and with a clock that is wrong. With a store that cannot be read or written it keeps answering from
 * the snapshot: still 200, and `degraded`; for `?for=writes` it is 503 then. Anyone sees the status; an operator (`view_domain` on `sys.auth`)
 * sees the state behind it.
 */
export function readinessRoute(deps: ReadinessDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    const certificate = ownCertificate(deps);
    const isForWrites = asksForWrites(ctx);
    const reason = readinessOf(deps, certificate.status);
    const status = reason === 'ready' && isForWrites && storeOf(deps) !== 'readable' ? 'store' : reason;
    ctx.status = status === 'ready' ? 200 : 503;
    const told = { status, ...(status === 'ready' && isDegraded(deps) && { degraded: true }) };
    answerJson(ctx, JSON.stringify({ ...told, ...(isForOperator(deps, ctx) && stateOf(deps, certificate)) }));
  };
}

function isForOperator({ snapshot, clock }: ReadinessDeps, ctx: RouteContext): boolean {
  const { principal } = ctx.state;
  if (principal?.kind !== 'identity') return false;
  return isOperator(snapshot(), { caller: principal.name, right: 'view_domain', domain: systemDomain }, clock.now());
}

/**
 * The age of the snapshot; `store: "unreadable"` or `"read-only"`; `clock: "degraded"`: the newest record of the store is more than 60 seconds
 * later than the own clock, `"wrong"`: so is what this server wrote itself, or the own clock is ahead of that of the database; `diverged`: the store has another history than this process knew; `revocationLists`: how much of its life the oldest list has left: `fresh`, `late`, or `ended`; `certificate` the
 * same of the server's own, `issuer` of the authority that issues certificates, which is `late` from the last third of its life on.
 */
function stateOf(deps: ReadinessDeps, certificate: ReturnType<typeof ownCertificate>) {
  const { counter, refreshedAt, divergence } = deps.snapshotStatus();
  const { token, bundle, missing } = deps.keys.current();
  const { state: clock } = deps.storeWatch.clock();
  const issuer = issuerOf(deps);
  return {
    ...(clock !== 'fit' && { clock }),
    snapshot: { counter, ageMs: Math.max(0, deps.clock.now() - refreshedAt) },
    store: storeOf(deps),
    ...(divergence !== undefined && {
      diverged: { known: shownState(divergence.known), found: shownState(divergence.found) },
    }),
    certificate,
    ...(issuer !== undefined && { issuer }),
    ...(deps.crls !== undefined && { revocationLists: revocationLists(deps.crls) }),
    keys: { token: token?.kid ?? null, bundle: bundle?.kid ?? null, missing },
  };
}
