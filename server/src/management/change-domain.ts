import { createHash } from 'node:crypto';
import type { Clock } from '@signet/policy-engine/clock';
import type { DomainName, PrincipalName } from '@signet/policy-engine/names';
import { ForbiddenError, PreconditionFailedError, UnknownDomainError } from '../errors.ts';
import type { AccessChange } from '../impact/impact.ts';
import { compileSnapshot } from '../snapshot/compile-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { MemberScope } from '../store/read-members.ts';
import type { ChangeContext, DomainContent, DomainRecord } from '../store/records.ts';
import type { DomainExcerpt, Store } from '../store/store.ts';
import { asRecord } from './apply-documents.ts';
import { noMembers, readForChange } from './member-scope.ts';
import { describeChanges, type ObjectChange } from './object-changes.ts';
import { impactIfKnown } from './plan-documents.ts';
import { checkQuotas, type Quotas } from './quotas.ts';
import { requireReason } from './require-reason.ts';
import { changesManagers, type Right, requireRight } from './rights.ts';
import { checkSafeguards, type FindDomain } from './safeguards.ts';

export interface ManagementDeps {
  readonly store: Store;
  readonly snapshot: () => Snapshot;
  /** Makes the snapshot follow a change at once. */
  readonly refresh: () => Promise<void>;
  readonly clock: Clock;
  readonly quotas: Quotas;
}

/** Who asks for a change, and how it is to be made. */
export interface ChangeRequest {
  readonly caller: PrincipalName;
  readonly context: ChangeContext;
  /** Entity tags of which the object must have one; `*`: it must exist. */
  readonly ifMatch?: readonly string[];
  /** The object must not exist yet. */
  readonly mustBeNew: boolean;
  readonly dryRun: boolean;
  readonly allowWildcard: boolean;
}

/** One kind of change: what it is about, what takes the right to do it, and the change itself. */
export interface DomainEdit {
  readonly domain: DomainName;
  readonly right: Right;
  /** `role.reader` and so on: what the right is asked for. */
  readonly object: string;
  /** Whether only the policy of `sys.auth` gives the right. */
  readonly systemOnly?: boolean;
  /** The members that the change has to do with. It sees no others, and leaves them as they are. */
  readonly members: MemberScope;
  /** What the caller sees of the object, the base of its entity tag; undefined when there is none. */
  view(domain: DomainContent): unknown;
  /** Throws `NotFoundError`, `ConflictError` or `InvalidRequestError`. */
  apply(domain: DomainRecord): DomainContent;
  /** Further conditions that need other domains. */
  check?(snapshot: Snapshot): void;
}

export type ChangeOutcome =
  | { readonly kind: 'done'; readonly created: boolean; readonly view: unknown }
  | { readonly kind: 'dry-run'; readonly preview: Preview };

export interface Preview {
  readonly changes: readonly ObjectChange[];
  /** Null when the patterns are too entangled to tell. */
  readonly impact: readonly AccessChange[] | null;
}

/** A strong entity tag: equal for equal content. */
export function entityTagOf(view: unknown): string {
  return `"${createHash('sha256').update(JSON.stringify(view)).digest('base64url').slice(0, 27)}"`;
}

/**
 * Makes one change of one domain in one transaction with its audit record, or says what it would do. Existence comes before
 * rights (decision 6). Throws `UnknownDomainError`, `ForbiddenError`, `PreconditionFailedError`, and what the edit throws.
 */
export async function changeDomain(
  deps: ManagementDeps,
  request: ChangeRequest,
  edit: DomainEdit,
): Promise<ChangeOutcome> {
  if (request.dryRun) {
    await deps.refresh();
    const content = await deps.store.domain(edit.domain);
    if (content === undefined) throw new UnknownDomainError(edit.domain);
    const before = { content, otherMembers: 0 };
    const after = await edited(deps, request, edit, before, (name) => deps.store.domain(name));
    return { kind: 'dry-run', preview: preview(deps, content, after) };
  }
  const outcome = await deps.store.change(request.context, async (transaction): Promise<ChangeOutcome> => {
    const before = await readForChange(transaction, edit.domain, edit.members);
    if (before === undefined) throw new UnknownDomainError(edit.domain);
    const find = async (name: DomainName) => (await transaction.excerpt(name, noMembers))?.content;
    const after = await edited(deps, request, edit, before, find);
    await transaction.saveExcerpt(before, after);
    // As the next reader sees it, with the ids that the store gave to new rules: its entity tag is then that of the answer.
    const saved = await readForChange(transaction, edit.domain, edit.members);
    const view = saved && edit.view(saved.content);
    return { kind: 'done', created: edit.view(before.content) === undefined, view };
  });
  await deps.refresh().catch(ignored);
  return outcome;
}

/** The change is made: the snapshot follows at its next refresh, and the failure is reported there. */
export function ignored(): void {}

async function edited(
  deps: ManagementDeps,
  request: ChangeRequest,
  edit: DomainEdit,
  { content: before, otherMembers }: DomainExcerpt,
  find: FindDomain,
): Promise<DomainContent> {
  const snapshot = deps.snapshot();
  const now = deps.clock.now();
  const { caller } = request;
  const { isAdmin } = requireRight(
    snapshot,
    { caller, right: edit.right, domain: edit.domain, object: edit.object, systemOnly: edit.systemOnly === true },
    now,
  );
  requireReason(before, request.context);
  requireMatch(request, edit.view(before));
  edit.check?.(snapshot);
  const after = edit.apply(before);
  if (!isAdmin && changesManagers(before, after, snapshot)) {
    throw new ForbiddenError('only an administrator may change who manages the domain');
  }
  checkQuotas(before, after, deps.quotas, otherMembers);
  await checkSafeguards(before, after, { allowWildcard: request.allowWildcard, now, find });
  return after;
}

/** Throws `PreconditionFailedError` when the object is not as the caller knows it. */
export function requireMatch(request: ChangeRequest, view: unknown): void {
  const { ifMatch, mustBeNew } = request;
  if (mustBeNew && view !== undefined) throw new PreconditionFailedError('the object exists already');
  if (ifMatch === undefined) return;
  const fits = view !== undefined && (ifMatch.includes('*') || ifMatch.includes(entityTagOf(view)));
  if (!fits) throw new PreconditionFailedError('the object is not what it was: read it again');
}

export function preview(
  deps: Pick<ManagementDeps, 'snapshot' | 'clock'>,
  before: DomainRecord | undefined,
  after: DomainContent,
): Preview {
  const now = deps.clock.now();
  const snapshot = deps.snapshot();
  const compiled = compileSnapshot(snapshot, {
    state: { epoch: snapshot.epoch, counter: snapshot.counter },
    domains: [asRecord(after, now)],
    deleted: [],
    signingKeys: snapshot.signingKeys,
  });
  return {
    changes: describeChanges(before, after),
    impact: impactIfKnown(snapshot, compiled.snapshot, now) ?? null,
  };
}
