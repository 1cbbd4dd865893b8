import { formatTimestamp } from '@signet/policy-engine/clock';
import { type DomainName, type PrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { requireKnownIdentity } from '../../access/known-identity.ts';
import { requireAsker } from '../../access/recording-conditions.ts';
import { ConflictError, InvalidRequestError, NotFoundError } from '../../errors.ts';
import type { RequestContent } from '../../model/change-requests.ts';
import type { MovedDomain } from '../../model/domain-change.ts';
import { emptyDomain } from '../../model/empty-domain.ts';
import type { ChangeContext, DomainRecord, Quotas } from '../../model/records.ts';
import type { StoreReader, StoreTransaction } from '../../model/store.ts';
import { diffDomains } from '../../store/diff-domains.ts';
import { type ApplySummary, documentsToApply } from '../apply-documents.ts';
import { applyDelta, deltaOf } from '../domain-delta.ts';
import { putMember } from '../edits/edit-member-lists.ts';
import { type ObjectOperation, type ObjectOperationId, objectOperations } from '../edits/object-operations.ts';
import { askedByDocuments } from '../effect-digest.ts';
import type { AuthorRights, DocumentAuthor } from '../judge-documents.ts';
import { type ChangeRequest, type DomainOperation, editing, type MadeChange } from '../judge-edit.ts';
import { deletionOf, describeChanges, type ObjectChange } from '../object-changes.ts';
import { filesFolder } from '../plan-files.ts';
import { rightsOf, systemDomain } from '../rights.ts';
import { snapshotOf, withNeeded } from '../stored-world.ts';
import type { Needs } from './needed.ts';

/** Content of a request, judged on the store as of one instant: nothing is written yet. */
export interface Prepared {
  readonly moved: readonly MovedDomain[];
  readonly changes: readonly ObjectChange[];
  /** Approvals that are missing, by domain. */
  readonly needs: Needs;
  /** Rights of the author. */
  readonly rights: AuthorRights;
  readonly known: ReadonlyMap<DomainName, DomainRecord>;
  /** Part of the digest of the effect. */
  readonly asked: readonly unknown[];
  readonly casesPassed: number;
  save(transaction: StoreTransaction): Promise<MadeChange | ApplySummary>;
}

/** Author of a request, and the settings by which its content is judged. */
export interface Asking {
  readonly author: DocumentAuthor;
  readonly context: ChangeContext;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly quotas: Quotas;
  readonly reservedMs?: number;
  /** Conditions of the request that asks; none when it is approved. */
  readonly conditions?: Pick<ChangeRequest, 'ifMatch' | 'mustBeNew'>;
  /** Latest end of memberships that the change makes, for break-glass. */
  readonly membersUntil?: number;
}

/**
 * Judges what is asked for by the rights of its author and all rules. The only way from a stored request to a change. Throws what refuses it.
 */
export function prepare(reader: StoreReader, content: RequestContent, asking: Asking): Promise<Prepared> {
  if (content.kind === 'documents') return prepareDocuments(reader, content, asking);
  return prepareEdit(reader, content, asking);
}

async function prepareDocuments(
  reader: StoreReader,
  { files, flags }: Extract<RequestContent, { kind: 'documents' }>,
  { author, context, now, quotas, reservedMs, membersUntil }: Asking,
): Promise<Prepared> {
  const folder = filesFolder(files);
  const rules = Object.fromEntries(flags.map((flag) => [flag, true]));
  const options = { ...rules, author, now, quotas, reservedMs, membersUntil };
  const { moved, needs, rights, domains, casesPassed, save } = await documentsToApply(reader, folder, context, options);
  return {
    moved,
    changes: moved.flatMap(({ change }) => describeChanges(change)),
    needs,
    rights,
    known: domains,
    asked: askedByDocuments(folder, rules),
    casesPassed,
    save,
  };
}

async function prepareEdit(
  reader: StoreReader,
  content: Exclude<RequestContent, { kind: 'documents' }>,
  asking: Asking,
): Promise<Prepared> {
  const { author, context, now, quotas, reservedMs, membersUntil } = asking;
  const { caller, certificate } = author;
  const operation = operationOf(content, asking);
  const { domain } = operation;
  const names = [systemDomain, domain, ...homeOf(caller), ...((await operation.named?.(reader)) ?? [])];
  const known = await withNeeded(reader, new Map(), names);
  const snapshot = snapshotOf({ domains: known, switchedOff: await reader.switchedOff() });
  await requireAsker(reader, snapshot, { principal: caller, certificate });
  requireKnownIdentity(caller, snapshot);
  const request: ChangeRequest = {
    caller,
    context,
    mustBeNew: false,
    dryRun: false,
    allowWildcard: false,
    ...asking.conditions,
    ...(content.kind === 'edit' && Object.fromEntries(content.flags.map((flag) => [flag, true]))),
    ...(membersUntil !== undefined && { membersUntil }),
  };
  const rights = rightsOf(snapshot, caller, now);
  const deps = {
    snapshot: () => snapshot,
    clock: { now: () => now },
    quotas,
    rights,
    ...(reservedMs !== undefined && { nameReservationMs: reservedMs }),
  };
  const { change, needed, save } = await operation.judge(deps, request, reader);
  const before = await reader.domain(domain);
  const moved = movedBy(change, domain, before);
  return {
    moved: [moved],
    changes: change === 'deletion' ? [deletionOf(domain)] : shown(content, describeChanges(moved.change)),
    needs: new Map(needed.approvals > 0 ? [[domain, needed]] : []),
    rights,
    known,
    asked: [content],
    casesPassed: 0,
    save,
  };
}

function movedBy(
  change: Awaited<ReturnType<DomainOperation['judge']>>['change'],
  domain: DomainName,
  before: DomainRecord | undefined,
): MovedDomain {
  if (change !== 'deletion')
    return { before, change, after: applyDelta(before ?? emptyDomain(domain), deltaOf(change)) };
  const after = { ...emptyDomain(domain), enabled: false };
  return { before, change: diffDomains(before, after), after };
}

/** Domain of a service. */
export function homeOf(principal: PrincipalName): readonly DomainName[] {
  const own = splitPrincipal(principal)?.domain;
  return own === undefined ? [] : [own];
}

function operationOf(
  content: Exclude<RequestContent, { kind: 'documents' }>,
  { author, now, quotas }: Asking,
): DomainOperation {
  if (content.kind === 'role') return membership(content, author.caller, now);
  const { params, body } = content;
  // Written by `askFor`, from the table.
  const { operation }: ObjectOperation = objectOperations[content.operation as ObjectOperationId];
  return operation({ params, body, quotas });
}

/** Membership in a role that its holder asks for: a right to it is what the role itself gives by `requestSeconds`. */
function membership(
  { domain, role, seconds }: Extract<RequestContent, { kind: 'role' }>,
  principal: PrincipalName,
  now: number,
): DomainOperation {
  const list = { kind: 'role', domain, name: role } as const;
  const until = now + seconds * 1000;
  return {
    domain,
    judge: async (deps, request, reader) => {
      const [stored, found] = [await reader.attributes(domain), await reader.list(list)];
      const most =
        stored?.enabled === true && found !== undefined && 'requestSeconds' in found ? found.requestSeconds : undefined;
      // One answer, whichever of them is missing.
      if (most === undefined) throw new NotFoundError(`role \`${domain}:role.${role}\` cannot be asked for`);
      if (seconds > most) throw new InvalidRequestError(`seconds must be at most ${most} for this role`);
      const entries = await reader.entries(domain, [principal]);
      const held = entries.find((entry) => entry.list.kind === 'role' && entry.list.name === role)?.member;
      if (held?.disabled === true)
        throw new ConflictError('the membership is disabled: an administrator can enable it');
      if (held !== undefined && (held.expires === undefined || held.expires >= until)) {
        throw new ConflictError(`\`${principal}\` is a member of the role for as long already`);
      }
      const body = {
        expires: formatTimestamp(until),
        ...(held?.review !== undefined && { review: formatTimestamp(held.review) }),
      };
      const rights = { ...deps.rights, require: () => ({ isAdmin: true }) };
      return await editing(putMember(list, principal, body)).judge({ ...deps, rights }, request, reader);
    },
  };
}

/** The time of a role runs from its approval: until then its end is not known. */
function shown(content: RequestContent, changes: readonly ObjectChange[]): readonly ObjectChange[] {
  if (content.kind !== 'role') return changes;
  const { seconds } = content;
  return changes.map(({ fields, ...change }) => ({
    ...change,
    ...(fields !== undefined && {
      fields: fields.map((one) =>
        one.field === 'expires' ? { ...one, after: `${spanOf(seconds)} after the approval` } : one,
      ),
    }),
  }));
}

function spanOf(seconds: number): string {
  if (seconds % 3600 === 0) return `${seconds / 3600} h`;
  return seconds % 60 === 0 ? `${seconds / 60} min` : `${seconds} s`;
}
