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
  /** Maximum cache lifetime of a list that is valid for long enough. */
  readonly crlMaxAgeSeconds: number;
}

const types = { der: 'application/pkix-crl', pem: 'application/x-pem-file' } as const;

/**
 * `GET /crl` and `GET /crl/{issuer}`: the revocation list of the first active issuer, or of one or of a root by its id; DER, or PEM by `format`
 * or `Accept`. `GET /crl/chain`: those of all issuers and roots, as whole chains are checked with; PEM.
 */
export function revocationListRoute(deps: RevocationListDeps): RouterMiddleware<RequestState> {
  const inPem = keptText();
  return async (ctx) => {
    ctx.vary('Accept');
    ctx.state.work += costs.read;
    const issuer = ctx.params['issuer'];
    const lists = issuer === 'chain' ? await deps.crls.all() : [await deps.crls.current(issuer)];
    const format = issuer === 'chain' ? 'pem' : formatOf(ctx);
    const mark = `${lists.map(({ digest }) => digest.slice(0, 27)).join('.')}-${format}`;
    if (callerHas(ctx, mark, maxAgeOf(deps, lists))) return;
    const body = format === 'pem' ? await inPem(lists, mark) : lists[0]?.der;
    ctx.state.isSharedAnswer = true;
    ctx.res.setHeader('Content-Type', types[format]);
    ctx.body = body;
  };
}

/**
 * Lists in PEM, one after the other. INVARIANT: those of one mark are one text, which all who read it slowly hold together: how much that is
 * together is not counted.
 */
function keptText(): (lists: readonly GivenCrl[], mark: string) => Promise<string> {
  let kept: { readonly mark: string; readonly text: Promise<string> } | undefined;
  return (lists, mark) => {
    const [first, ...more] = lists;
    if (first !== undefined && more.length === 0) return first.pem();
    if (kept?.mark !== mark) kept = { mark, text: joined(lists) };
    return kept.text;
  };
}

async function joined(lists: readonly GivenCrl[]): Promise<string> {
  return (await Promise.all(lists.map((list) => list.pem()))).join('');
}

/** Format of the answer by the query; else PEM for clients that prefer it. */
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
