import createClient from 'openapi-fetch';
import type { paths } from '../generated/openapi-typescript.ts';
import type { OpenClient, Outcome } from './client.ts';

interface Answered<Data> {
  readonly data?: Data;
  readonly error?: Outcome<Data>['error'];
  readonly response: Response;
}

async function outcome<Data>(answered: Promise<Answered<Data>>): Promise<Outcome<Data>> {
  const { data, error, response } = await answered;
  return { status: response.status, etag: response.headers.get('etag'), data, error };
}

/** The types of openapi-typescript with the client of openapi-fetch. */
export const open: OpenClient = ({ origin, fetch }) => {
  const client = createClient<paths>({ baseUrl: origin, fetch });
  const domain = '/management/v1/domains/{domainName}';
  return {
    token: (scope, seconds) =>
      outcome(
        client.POST('/v1/oauth2/token', {
          body: { grant_type: 'client_credentials', scope, expires_in: seconds },
          bodySerializer: (body) =>
            new URLSearchParams(Object.entries(body).map(([name, value]) => [name, `${value}`])),
          headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        }),
      ),
    isGranted: (action, resource, principal) =>
      outcome(client.GET('/v1/access/{action}', { params: { path: { action }, query: { resource, principal } } })),
    isInRole: (domainName, roleName, principal) =>
      outcome(
        client.GET('/v1/access/domain/{domainName}/role/{roleName}/principal/{principal}', {
          params: { path: { domainName, roleName, principal } },
        }),
      ),
    joinToken: (instanceId) =>
      outcome(
        client.GET('/v1/instance/{provider}/{domain}/{service}/{instanceId}/token', {
          params: { path: { provider: 'sys.auth.server', domain: 'media', service: 'player', instanceId } },
        }),
      ),
    register: (body) => outcome(client.POST('/v1/instance', { body })),
    keys: () => outcome(client.GET('/v1/oauth2/keys', { params: { query: { rfc: true } } })),
    signedPolicy: (domainName, etag) =>
      outcome(
        client.GET('/v1/domain/{domainName}/policy/signed', {
          params: { path: { domainName }, header: etag === undefined ? {} : { 'If-None-Match': etag } },
        }),
      ),
    createDomain: (name, admins) => outcome(client.POST('/management/v1/domains', { body: { domain: name, admins } })),
    domain: (domainName) => outcome(client.GET(domain, { params: { path: { domainName } } })),
    describe: (domainName, description, etag) =>
      outcome(
        client.PUT(domain, { params: { path: { domainName }, header: { 'If-Match': etag } }, body: { description } }),
      ),
  };
};
