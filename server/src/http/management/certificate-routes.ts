import { epochSeconds } from '@signet/policy-engine/clock';
import { parsePrincipalName } from '@signet/policy-engine/names';
import { InvalidRequestError, NotFoundError } from '../../errors.ts';
import { parseBody } from '../../instances/instance-request.ts';
import {
  certificateForCaller,
  certificateRights,
  parseSerial,
  revocationSchema,
  revokeForCaller,
  shownCertificate,
} from '../../management/certificates.ts';
import { readPage } from '../../management/paging.ts';
import type { CertificateRecord } from '../../model/certificate-store.ts';
import { bodyJson } from '../body.ts';
import { comparedFor } from '../compared-for.ts';
import type { RouteContext } from '../context.ts';
import { askedBy, lookedAt } from './looked-at.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import type { PathRight } from './path-rights.ts';
import { answerView, changeContextOf, pageRequestOf, queryOf } from './request.ts';
import type { ManagementRoutes } from './routes.ts';

const ofHolder: PathRight = { kind: 'untold', why: 'the right follows from the holder of the certificate' };

/** Routes for certificates that were issued: of the caller, and of principals whose certificates it manages. */
export function mountCertificateRoutes(routes: ManagementRoutes, deps: ManagementRouteDeps): void {
  const path = `${deps.basePath}/certificates`;
  routes.get(path, ofHolder, async (ctx) => {
    const query = queryOf(ctx, ['holder', 'state', 'limit', 'cursor']);
    const holder = parsePrincipalName(query.get('holder'), 'holder');
    const isAll = stateOf(query) === 'all';
    const issuedFrom = rightsFor(deps, ctx)(holder);
    if (issuedFrom === undefined) throw new NotFoundError('there is no such certificate');
    const validAt = epochSeconds(deps.clock);
    const read = async (after: string, limit: number) => {
      const found = await deps.store.certificates.ofHolder({
        holder,
        issuedFrom,
        limit,
        ...(!isAll && { validAt }),
        ...(after !== '' && { after: placeOf(after) }),
      });
      lookedAt(ctx, 'row', found.length);
      return found;
    };
    const page = await readPage(read, keyOf, pageRequestOf(ctx, query), deps.pagingSecret);
    await answerView(ctx, { ...page, items: page.items.map((record) => shownCertificate(record, deps.clock)) });
  });
  routes.get(`${path}/:serial`, ofHolder, async (ctx) => {
    queryOf(ctx, []);
    lookedAt(ctx, 'row');
    const record = await certificateForCaller(deps, rightsFor(deps, ctx), parseSerial(String(ctx.params['serial'])));
    await answerView(ctx, shownCertificate(record, deps.clock));
  });
  routes.put(`${path}/:serial/revocation`, ofHolder, async (ctx) => {
    queryOf(ctx, []);
    const serial = parseSerial(String(ctx.params['serial']));
    const revocation = parseBody(revocationSchema, bodyJson(ctx));
    const request = { ...changeContextOf(ctx, revocation.reason), compared: comparedFor(ctx) };
    const record = await revokeForCaller(deps, request, serial, revocation);
    await answerView(ctx, shownCertificate(record, deps.clock));
  });
}

function rightsFor(deps: ManagementRouteDeps, ctx: RouteContext) {
  const { snapshot, now, caller, compared } = askedBy(deps, ctx);
  return certificateRights(snapshot, caller, now, compared);
}

function stateOf(query: ReadonlyMap<string, string>): 'valid' | 'all' {
  const state = query.get('state') ?? 'valid';
  if (state === 'valid' || state === 'all') return state;
  throw new InvalidRequestError('state must be `valid` or `all`');
}

/** Place of a certificate in a list. */
function keyOf({ notAfter, serial }: Pick<CertificateRecord, 'notAfter' | 'serial'>): string {
  return JSON.stringify([notAfter, serial]);
}

/** Place encoded in a key by `keyOf`, from a cursor that was signed here. */
function placeOf(key: string): Pick<CertificateRecord, 'notAfter' | 'serial'> {
  const [notAfter, serial] = JSON.parse(key) as [number, string];
  return { notAfter, serial };
}
