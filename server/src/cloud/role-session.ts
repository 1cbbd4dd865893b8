import { createHash } from 'node:crypto';
import type { PrincipalName } from '@signet/policy-engine/names';
import type { CredentialsRequest } from './credentials-request.ts';

/** Call of AssumeRole, in the cloud's terms. */
export interface RoleSession {
  readonly roleArn: string;
  /** Name of the caller for the cloud's audit trail: letters, digits and `_=,.@-`, 2 to 64 of them. */
  readonly sessionName: string;
  readonly sourceIdentity: string;
  readonly tags: readonly { readonly key: string; readonly value: string }[];
  readonly durationSeconds?: number;
  readonly externalId?: string;
}

/** Answer of the operation (docs/reference/cloud-credentials.md#what-is-asked); `expiration` is milliseconds here. */
export interface TemporaryCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  readonly expiration: number;
}

/** The session that a principal gets for a role of an account. Pure. */
export function roleSession(account: string, principal: PrincipalName, request: CredentialsRequest): RoleSession {
  const name = sessionName(principal);
  return {
    roleArn: `arn:aws:iam::${account}:role/${request.role}`,
    sessionName: name,
    sourceIdentity: name,
    tags: [
      { key: 'domain', value: request.domain },
      { key: 'role', value: request.role.slice(0, 256) },
      { key: 'principal', value: principal },
    ],
    ...(request.durationSeconds !== undefined && { durationSeconds: request.durationSeconds }),
    ...(request.externalId !== undefined && { externalId: request.externalId }),
  };
}

/** Maximum length of a session's name in the cloud. */
const maxNameLength = 64;

/** A principal that is too long keeps its start and gets a digest, so that two principals never share a name. */
function sessionName(principal: PrincipalName): string {
  if (principal.length <= maxNameLength) return principal;
  const digest = createHash('sha256').update(principal).digest('hex').slice(0, 16);
  return `${principal.slice(0, 47)}-${digest}`;
}
