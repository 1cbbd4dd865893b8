import type { RouterMiddleware } from '@koa/router';
import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import { costs } from '../../../budgets/costs.ts';
import { InvalidRequestError, NotFoundError } from '../../../errors.ts';
import type { CrlPublisher, GivenCrl } from '../../../x509/crl-publisher.ts';
import type { IssuerSet, Issuers } from '../../../x509/issuers.ts';
import { answerCached, callerHas } from '../../cached-answer.ts';
import type { RequestState, RouteContext } from '../../context.ts';
import { parseParameters } from '../../parameters.ts';

function bundle(set: IssuerSet, name: unknown): string | undefined {
  const issuers = [...new Set([...set.active, ...set.draining].map(({ chainPem }) => chainPem))].join('');
  switch (name) {
    case 'roots':
      return set.rootsPem;
    case 'issuers':
      return issuers;
    case 'chain':
      return issuers + set.rootsPem;
    default:
      return undefined;
  }
}

/** `GET /cacerts/{name}`: `roots` to trust, the `issuers` below them, or both as `chain`. */
export function authorityCertificatesRoute(
  issuers: Pick<Issuers, 'current'>,
  maxAgeSeconds: number,
): RouterMiddleware<RequestState> {
  return (ctx) => {
    const name = ctx.params['name'];
    const certs = bundle(issuers.current(), name);
    if (certs === undefined) throw new NotFoundError('there is no such bundle');
    answerCached(ctx, JSON.stringify({ name, certs }), maxAgeSeconds);
  };
}

export interface RevocationListDeps {
  readonly crls: CrlPublisher;
  readonly clock: Clock;
  /** How long a cache may keep a list that lives long enough. */
  readonly crlMaxAgeSeconds: number;
}

const types = { der: 'application/pkix-crl', pem: 'application/x-pem-file' } as const;

/**
 * `GET /crl` and `GET /crl/{issuer}`: the revocation list of the first active issuer, or of one or of a root by its id; DER, or PEM by `format`
 * or `Accept`. `GET /crl/chain`: those of all issuers and roots, as whole chains are checked with; PEM.
 */
export function revocationListRoute(deps: RevocationListDeps): RouterMiddleware<RequestState> {
  return async (ctx) => {
    ctx.vary('Accept');
    ctx.state.work += costs.read;
    const issuer = ctx.params['issuer'];
    const lists = issuer === 'chain' ? await deps.crls.all() : [await deps.crls.current(issuer)];
    const format = issuer === 'chain' ? 'pem' : formatOf(ctx);
    const mark = `${lists.map(({ digest }) => digest.slice(0, 27)).join('.')}-${format}`;
    if (callerHas(ctx, mark, maxAgeOf(deps, lists))) return;
    const body = format === 'pem' ? (await Promise.all(lists.map((list) => list.pem()))).join('') : lists[0]?.der;
    ctx.state.isSharedAnswer = true;
    ctx.res.setHeader('Content-Type', types[format]);
    ctx.body = body;
  };
}

/** As the query says; else PEM for those who say that they would rather have it. */
function formatOf(ctx: RouteContext): 'der' | 'pem' {
  const format = parseParameters(ctx.querystring, 'query').get('format');
  if (format === 'der' || format === 'pem') return format;
  if (format !== undefined) throw new InvalidRequestError('format must be `der` or `pem`');
  return ctx.accepts(types.der, types.pem) === types.pem ? 'pem' : 'der';
}

function maxAgeOf({ clock, crlMaxAgeSeconds }: RevocationListDeps, lists: readonly GivenCrl[]): number {
  const now = epochSeconds(clock);
  return Math.max(0, Math.min(crlMaxAgeSeconds, ...lists.map(({ nextUpdate }) => nextUpdate - now)));
}
