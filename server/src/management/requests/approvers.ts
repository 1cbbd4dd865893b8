import { fullRoleName, type PrincipalName } from '@signet/policy-engine/names';
import { ForbiddenError } from '../../errors.ts';
import type { StoredRequest } from '../../model/change-requests.ts';
import type { StoreReader } from '../../model/store.ts';
import { heldRoles } from '../../roles/granted-roles.ts';
import { isUser } from '../../snapshot/snapshot.ts';
import type { Sides } from '../find-effect.ts';
import type { CallerRights } from '../rights.ts';

type Rights = Pick<CallerRights, 'caller' | 'administers' | 'holds' | 'seesAll'>;

/** True if the principal may decide about the request as far as its rights go: for all of the domains that it changes. */
export function mayDecide(
  { administers, holds }: Pick<Rights, 'administers' | 'holds'>,
  request: Pick<StoredRequest, 'kind' | 'content' | 'domains'>,
): boolean {
  const { kind, domains } = request;
  const ofRole = () => {
    const { content } = request;
    return content.kind === 'role' && holds('approve_changes', content.domain, `role.${content.role}`);
  };
  return domains.every((name) => administers(name) || holds('approve_changes', name) || (kind === 'role' && ofRole()));
}

/** True if the principal may look at the request: its author, who decides about it, and who sees all of its domains. */
export function maySee(rights: Rights, request: StoredRequest): boolean {
  return (
    request.author === rights.caller ||
    mayDecide(rights, request) ||
    request.domains.every((name) => rights.seesAll(name))
  );
}

/** Approver or reviewer, and its certificate. */
interface Approver {
  readonly caller: PrincipalName;
  /** Lower-case hexadecimal; absent where no certificate of the caller was presented. */
  readonly serial?: string;
}

/**
 * Requires another person with the right to decide, whose certificate and that of the author do not come from one hand. Throws `ForbiddenError`
 * that says which condition failed.
 */
export async function requireApprover(
  reader: Pick<StoreReader, 'certificateAskedBy'>,
  request: StoredRequest,
  rights: Rights,
  {
    approver: { caller, serial },
    issuedByOperators,
  }: { readonly approver: Approver; readonly issuedByOperators: boolean },
): Promise<void> {
  requireDecider(request, rights);
  if (serial === undefined) throw new ForbiddenError('approvals take a client certificate of the approver itself');
  const own = await reader.certificateAskedBy(serial);
  const others = request.certificate === undefined ? [] : await reader.certificateAskedBy(request.certificate);
  if (own.includes(request.author) || others.includes(caller)) {
    throw new ForbiddenError('one of the two certificates was issued at the request of the other person');
  }
  if (isOwn(own, caller) || isOwn(others, request.author) || issuedByOperators) return;
  throw new ForbiddenError(
    'neither certificate was fetched by a log-in of its own: log in, or set management.requests.issuedByOperators',
  );
}

/** True if a certificate was fetched by its holder. */
function isOwn(askers: readonly string[], holder: string): boolean {
  return askers.length === 1 && askers[0] === holder;
}

/** Requires another person with the right to decide. Throws `ForbiddenError`. */
export function requireDecider(request: StoredRequest, rights: Rights): void {
  const { caller } = rights;
  if (!isUser(caller)) throw new ForbiddenError(`only persons approve: \`${caller}\` is not a user`);
  if (caller === request.author) throw new ForbiddenError('nobody decides about a request of its own');
  if (mayDecide(rights, request)) return;
  const { content, domains } = request;
  const object =
    content.kind === 'role' ? fullRoleName(content.domain, content.role) : `${domains.join(':domain`, `')}:domain`;
  throw new ForbiddenError(
    `\`${caller}\` neither administers the domain nor holds \`approve_changes\` on \`${object}\``,
  );
}

/** Requires that the change puts its approver in no role. Throws `ForbiddenError`. */
export function requireNoGain({ before, after, moved, basis }: Sides, caller: PrincipalName, now: number): void {
  for (const name of new Set([...moved.map(({ change }) => change.name), ...basis.affected])) {
    const [was, is] = [before, after].map((snapshot) => {
      const domain = snapshot.domain(name);
      return domain === undefined
        ? []
        : heldRoles(snapshot, domain, caller, { now, compared: undefined }).map((role) => role.name);
    });
    const gained = is?.find((role) => was?.includes(role) !== true);
    if (gained === undefined) continue;
    throw new ForbiddenError(
      `the change makes \`${caller}\` a member of \`${fullRoleName(name, gained)}\`: somebody else must approve it`,
    );
  }
}
