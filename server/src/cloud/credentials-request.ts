import type { DomainName } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../errors.ts';

/** Request of `GET /domain/{domainName}/role/{roleName}/creds` (docs/reference/cloud-credentials.md#who-may). */
export interface CredentialsRequest {
  readonly domain: DomainName;
  /** Cloud role name, with its path if it has one; keeps its case. */
  readonly role: string;
  readonly durationSeconds?: number;
  readonly externalId?: string;
}

/*
 * AWSArnRoleName: path elements, each a letter or digit and then letters, digits, `-`, `.` and `_`, each followed by `/`;
 * then a role name of letters, digits and `-._=+@,`. The cloud allows 64 characters in a name and 512 in a path.
 */
const roleName = /^(?:[a-zA-Z0-9][a-zA-Z0-9\-._]*\/)*[a-zA-Z0-9\-._=+@,]{1,64}$/;
const maxRoleLength = 576;
/** Error text for a malformed role name. */
export const notARole =
  'roleName is not a valid AWSArnRoleName: letters, digits and `-._=+@,`, at most 64, after path elements that end with `/`';
const externalIdGrammar = /^[\w+=,.@:/-]{2,1224}$/;

/** Throws `InvalidRequestError` that names the field. */
export function parseCredentialsRequest(
  domain: DomainName,
  role: string,
  query: { durationSeconds?: string | undefined; externalId?: string | undefined },
): CredentialsRequest {
  if (role.length > maxRoleLength || !roleName.test(role)) throw new InvalidRequestError(notARole);
  const { durationSeconds, externalId } = query;
  if (externalId !== undefined && !externalIdGrammar.test(externalId)) {
    throw new InvalidRequestError('externalId must be 2 to 1224 characters of `[A-Za-z0-9_+=,.@:/-]`');
  }
  return {
    domain,
    role,
    ...(durationSeconds !== undefined && { durationSeconds: parseDuration(durationSeconds) }),
    ...(externalId !== undefined && { externalId }),
  };
}

function parseDuration(text: string): number {
  const seconds = /^\d{3,5}$/.test(text) ? Number(text) : Number.NaN;
  if (seconds >= 900 && seconds <= 43_200) return seconds;
  throw new InvalidRequestError('durationSeconds must be an integer from 900 to 43200');
}
