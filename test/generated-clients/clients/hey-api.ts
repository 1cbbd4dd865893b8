import { createClient } from '../generated/hey-api/client/index.ts';
import * as sdk from '../generated/hey-api/sdk.gen.ts';
import type { OpenClient, Outcome } from './client.ts';

interface Answered<Data> {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response?: Response;
}

async function outcome<Data>(
  answered: Promise<Answered<Data> & { readonly error?: Outcome<Data>['error'] | undefined }>,
) {
  const { data, error, response } = await answered;
  return { status: response?.status ?? 0, etag: response?.headers.get('etag') ?? null, data, error };
}

/** The client of hey-api. */
export const open: OpenClient = ({ origin, fetch }) => {
  const client = createClient({ baseUrl: origin, fetch });
  return {
    token: (scope, seconds) =>
      outcome(sdk.accessToken({ client, body: { grant_type: 'client_credentials', scope, expires_in: seconds } })),
    isGranted: (action, resource, principal) =>
      outcome(sdk.access({ client, path: { action }, query: { resource, principal } })),
    isInRole: (domainName, roleName, principal) =>
      outcome(sdk.roleCheckAccess({ client, path: { domainName, roleName, principal } })),
    joinToken: (instanceId) =>
      outcome(
        sdk.instanceRegisterToken({
          client,
          path: { provider: 'sys.auth.server', domain: 'media', service: 'player', instanceId },
        }),
      ),
    register: (body) => outcome(sdk.instanceRegister({ client, body })),
    keys: () => outcome(sdk.jwkList({ client, query: { rfc: true } })),
    signedPolicy: (domainName, etag) =>
      outcome(
        sdk.signedPolicy({
          client,
          path: { domainName },
          headers: etag === undefined ? {} : { 'If-None-Match': etag },
        }),
      ),
    createDomain: (domain, admins) => outcome(sdk.createDomain({ client, body: { domain, admins } })),
    domain: (domainName) => outcome(sdk.getDomain({ client, path: { domainName } })),
    describe: (domainName, description, etag) =>
      outcome(sdk.putDomain({ client, path: { domainName }, headers: { 'If-Match': etag }, body: { description } })),
  };
};
