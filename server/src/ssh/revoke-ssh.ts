import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import { type PrincipalName, parseDomainName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { authorityAction } from '../access/authority.ts';
import { checkAccess } from '../access/check-access.ts';
import { type Asker, requireAsker } from '../access/recording-conditions.ts';
import { ForbiddenError, InvalidRequestError, NotFoundError } from '../errors.ts';
import { type RevocationReason, revocationReasons } from '../model/certificate-store.ts';
import type { ChangeContext } from '../model/records.ts';
import type { SshSelection } from '../model/ssh-selection.ts';
import type { Store } from '../model/store.ts';
import type { SnapshotAt } from '../snapshot/live-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';

interface SshRevocation {
  readonly selection: SshSelection;
  readonly reason: RevocationReason;
}

/** Body of `POST /sshcert/revoke`. */
export const bodySchema = z.strictObject({
  /** Decimal, as `ssh-keygen -L` shows it: JSON numbers do not hold 64 bits. */
  serial: z
    .string()
    .regex(/^[1-9]\d{0,19}$/)
    .optional(),
  keyId: z.string().min(1).max(1024).optional(),
  reason: z.enum(revocationReasons).default('unspecified'),
});

/** Reads the body of `POST /sshcert/revoke`. Throws `InvalidRequestError`. */
export function parseSshRevocation(body: unknown): SshRevocation {
  const parsed = bodySchema.safeParse(body);
  if (!parsed.success) {
    const field = parsed.error.issues[0]?.path.join('.') || 'the body';
    throw new InvalidRequestError(`${field} is not as it must be: \`serial\` or \`keyId\`, and \`reason\``);
  }
  const { serial, keyId, reason } = parsed.data;
  if (serial !== undefined && keyId === undefined)
    return { selection: { by: 'serial', serial: BigInt(serial) }, reason };
  if (keyId !== undefined && serial === undefined) return { selection: { by: 'keyId', keyId }, reason };
  throw new InvalidRequestError('the body must have either `serial` or `keyId`');
}

interface RevokeSshDeps {
  readonly store: Pick<Store, 'change'>;
  readonly snapshotAt: SnapshotAt;
  readonly clock: Clock;
}

const action = authorityAction('revoke');
const systemDomain = parseDomainName('sys.auth');
const resource = `${systemDomain}:ssh`;

/**
 * Revokes SSH certificates: their owner may, and a holder of `revoke` on `sys.auth:ssh`. A key id stands for every certificate of it that is in
 * force; later ones are valid again. Returns their number. Throws `NotFoundError` when none is in force, `ForbiddenError`.
 */
export function revokeSsh(
  deps: RevokeSshDeps,
  asker: Asker,
  { selection, reason }: SshRevocation,
  context: ChangeContext,
): Promise<number> {
  const { principal: caller } = asker;
  const at = epochSeconds(deps.clock);
  return deps.store.change(context, async (transaction) => {
    const snapshot = await deps.snapshotAt(transaction.source());
    await requireAsker(transaction, snapshot, asker);
    const found = await transaction.liveSshCertificates(selection, at);
    if (found.length === 0) throw new NotFoundError('there is no such SSH certificate in force');
    if (!found.every(({ owner }) => owner === caller)) requireRevoke(snapshot, caller, deps.clock.now());
    for (const { serial } of found) await transaction.revokeCertificate(serial, { reason, at, by: caller });
    return found.length;
  });
}

function requireRevoke(current: Snapshot, principal: PrincipalName, now: number): void {
  const isAsked = current.domain(systemDomain) !== undefined;
  if (isAsked && checkAccess(current, { principal, action, resource }, now).granted) return;
  throw new ForbiddenError('an SSH certificate is revoked by its owner or an operator');
}
