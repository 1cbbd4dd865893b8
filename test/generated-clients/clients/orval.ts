import * as api from '../generated/orval.ts';
import type { OpenClient } from './client.ts';
import { connectTo } from './orval-fetch.ts';

interface Answered {
  readonly status: number;
  readonly data?: unknown;
  readonly headers?: Headers;
}

/** Type of `data` of a success: the statuses tell the answers apart. */
type Success<Answer> = Answer extends { readonly status: 200 | 201; readonly data: infer Data } ? Data : never;
/** The same of failures. */
type Failure<Answer> = Answer extends { readonly status: 400 | 401 | 403 | 404; readonly data: infer Data }
  ? Data
  : never;

async function outcome<Answer extends Answered>(
  answered: Promise<Answer>,
): Promise<{
  status: number;
  etag: string | null;
  data: Success<Answer> | undefined;
  error: Failure<Answer> | undefined;
}> {
  const answer = await answered;
  const { status, data } = answer;
  return {
    status,
    etag: answer.headers?.get('etag') ?? null,
    data: status < 300 ? (data as Success<Answer>) : undefined,
    error: status < 400 ? undefined : (data as Failure<Answer>),
  };
}

/** The client of orval. */
export const open: OpenClient = (connection) => {
  connectTo(connection);
  return {
    token: (scope, seconds) =>
      outcome(api.accessToken({ grant_type: 'client_credentials', scope, expires_in: seconds })),
    isGranted: (action, resource, principal) => outcome(api.access(action, { resource, principal })),
    isInRole: (domain, role, principal) => outcome(api.roleCheckAccess(domain, role, principal)),
    joinToken: (instanceId) => outcome(api.instanceRegisterToken('sys.auth.server', 'media', 'player', instanceId)),
    register: (registration) => outcome(api.instanceRegister(registration)),
    keys: () => outcome(api.jWKList({ rfc: true })),
    signedPolicy: (domain, etag) =>
      outcome(api.signedPolicy(domain, etag === undefined ? {} : { headers: { 'If-None-Match': etag } })),
    createDomain: (domain, admins) => outcome(api.createDomain({ domain, admins })),
    domain: (domain) => outcome(api.getDomain(domain)),
    describe: (domain, description, etag) =>
      outcome(api.putDomain(domain, { description }, undefined, { headers: { 'If-Match': etag } })),
  };
};
