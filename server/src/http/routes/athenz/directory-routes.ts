import type { RouterMiddleware } from '@koa/router';
import type { Clock } from '@signet/policy-engine/clock';
import { formatTimestamp } from '@signet/policy-engine/clock';
import {
  InvalidNameError,
  parseDomainName,
  parsePrincipalName,
  parseServiceName,
  type RoleName,
} from '@signet/policy-engine/names';
import { ybase64 } from '../../../base/ybase64.ts';
import { costs } from '../../../budgets/costs.ts';
import { NotFoundError } from '../../../errors.ts';
import { heldRoles } from '../../../roles/granted-roles.ts';
import { existingDomain } from '../../../snapshot/existing-domain.ts';
import type { DomainSnapshot, Snapshot } from '../../../snapshot/snapshot.ts';
import { comparedFor } from '../../compared-for.ts';
import { answerJson, type RequestState, requirePrincipal } from '../../context.ts';
import { parseParameters } from '../../parameters.ts';

/* Dependencies of the look-ups of Athenz clients of domains and services (docs/reference/athenz.md#look-ups). */

interface DirectoryDeps {
  readonly snapshot: () => Snapshot;
  readonly clock: Clock;
}

/** `GET /domain/{domainName}/service`: the names of the services of a domain. */
export function serviceListRoute({ snapshot }: DirectoryDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    requirePrincipal(ctx);
    const domain = existingDomain(snapshot(), parseDomainName(ctx.params['domainName'], 'domainName'));
    answerJson(ctx, JSON.stringify({ names: [...domain.services.keys()].sort() }));
  };
}

/** `GET /domain/{domainName}/service/{serviceName}`: a service with its keys. */
export function serviceRoute({ snapshot }: DirectoryDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    requirePrincipal(ctx);
    const name = parseServiceName(ctx.params['serviceName'], 'serviceName');
    const domain = existingDomain(snapshot(), parseDomainName(ctx.params['domainName'], 'domainName'));
    const service = domain.services.get(name);
    if (service === undefined) throw new NotFoundError(`service \`${domain.name}.${name}\` does not exist`);
    const { endpoint, hosts, publicKeys } = service;
    const answer = {
      name: `${domain.name}.${name}`,
      publicKeys: [...publicKeys].map(([id, pem]) => ({ key: ybase64(pem), id })),
      ...(endpoint !== undefined && { providerEndpoint: endpoint }),
      // Times are kept of policies, and not of services.
      modified: formatTimestamp(domain.policyModified),
      hosts,
    };
    answerJson(ctx, JSON.stringify(answer));
  };
}

/** `GET /host/{host}/services`: the services that are registered with a host. */
export function hostServicesRoute({ snapshot }: DirectoryDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    requirePrincipal(ctx);
    const host = String(ctx.params['host']).toLowerCase();
    const { domains } = snapshot();
    ctx.state.work += domains.size * costs.row;
    const names = [...domains.values()].flatMap((domain) => servicesByHost(domain).get(host) ?? []);
    answerJson(ctx, JSON.stringify({ host, names: names.sort() }));
  };
}

/** A snapshot keeps its domains for as long as they do not change. */
const byHost = new WeakMap<DomainSnapshot, ReadonlyMap<string, readonly string[]>>();

function servicesByHost(domain: DomainSnapshot): ReadonlyMap<string, readonly string[]> {
  const known = byHost.get(domain);
  if (known !== undefined) return known;
  const found = new Map<string, string[]>();
  for (const [name, { hosts }] of domain.services) {
    for (const host of hosts) {
      const names = found.get(host.toLowerCase());
      if (names === undefined) found.set(host.toLowerCase(), [`${domain.name}.${name}`]);
      else names.push(`${domain.name}.${name}`);
    }
  }
  byHost.set(domain, found);
  return found;
}

/** `GET /providerdomain/{provider}/user/{user}`: the tenants of a provider, by the roles `<service>.tenant.<domain>.<role>` of a user. */
export function tenantDomainsRoute({ snapshot: current, clock }: DirectoryDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    requirePrincipal(ctx);
    const user = parsePrincipalName(ctx.params['user'], 'user');
    const snapshot = current();
    const domain = existingDomain(snapshot, parseDomainName(ctx.params['provider'], 'provider'));
    const roles = heldRoles(snapshot, domain, user, { now: clock.now(), compared: comparedFor(ctx) });
    ctx.state.work += roles.length * costs.row;
    const tenants = new Set(roles.flatMap(({ name }) => tenantOf(snapshot, name) ?? []));
    answerJson(ctx, JSON.stringify({ tenantDomainNames: [...tenants].sort() }));
  };
}

/** The domain in the name of a role of its tenant, if there is one. */
function tenantOf(snapshot: Snapshot, role: RoleName): string | undefined {
  const [, tenant = ''] = /\.tenant\.(.+?)(?:\.res_group\..*|\.[^.]*)$/.exec(role) ?? [];
  try {
    return snapshot.domain(parseDomainName(tenant))?.name;
  } catch (error) {
    if (error instanceof InvalidNameError) return undefined;
    throw error;
  }
}

/** `GET /role/cert`: no role of this server takes a certificate before it is given as a token. */
export const certificateRolesRoute: RouterMiddleware<RequestState> = (ctx) => {
  requirePrincipal(ctx);
  const principal = parseParameters(ctx.querystring, 'query').get('principal');
  if (principal !== undefined) parsePrincipalName(principal, 'principal');
  answerJson(ctx, JSON.stringify({ roles: [] }));
};
