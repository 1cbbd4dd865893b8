import { createHash } from 'node:crypto';
import type { Clock } from '@signet/policy-engine/clock';
import type { DomainName, PrincipalName } from '@signet/policy-engine/names';
import { ForbiddenError, NotFoundError, PreconditionFailedError, UnknownDomainError } from '../errors.ts';
import { foldedImpactInSteps } from '../impact/fold.ts';
import type { AccessChange } from '../impact/impact.ts';
import { notFollowed } from '../peers.ts';
import { compileInSteps } from '../snapshot/compile-snapshot.ts';
import type { SnapshotAt } from '../snapshot/live-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { runInSlices } from '../snapshot/steps.ts';
import type { MemberScope } from '../store/read-members.ts';
import type { ChangeContext, DomainContent, DomainRecord } from '../store/records.ts';
import type { DomainExcerpt, DomainPatch, Store, StoreReader, StoreTransaction } from '../store/store.ts';
import { asRecord } from './apply-documents.ts';
import { danglingWarnings, type SeesDomain } from './dangling.ts';
import { changesManagers } from './managers.ts';
import { readForChange, readWhole } from './member-scope.ts';
import { memberWarnings } from './member-warnings.ts';
import { lostNames, type NameRules, removalWarnings, removeMemberships, withoutMembers } from './name-safeguards.ts';
import { describeChanges, type ObjectChange } from './object-changes.ts';
import { unlessEntangled } from './plan-documents.ts';
import { checkPlantedKeys, withDelegatedKeys } from './planted-keys.ts';
import { checkQuotas, type Quotas } from './quotas.ts';
import { requireReason } from './require-reason.ts';
import { isOperator, type Right, requireRight, viewerOf } from './rights.ts';
import { checkSafeguards } from './safeguards.ts';

export interface ManagementDeps {
  readonly store: Store;
  readonly snapshot: () => Snapshot;
  readonly snapshotAt: SnapshotAt;
  /** Makes the snapshot follow a change at once. */
  readonly refresh: () => Promise<void>;
  /** Makes every process of this server follow a change at once. */
  readonly changed: () => Promise<unknown>;
  readonly clock: Clock;
  readonly quotas: Quotas;
  /** How long names stay reserved; default 30 days. */
  readonly nameReservationMs?: number;
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
  /** As in `NameRules`. */
  readonly removeMemberships?: boolean;
  /** As in `NameRules`; for system operators. */
  readonly reuseName?: boolean;
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
}

export type ChangeOutcome =
  | { readonly kind: 'done'; readonly created: boolean; readonly view: unknown; readonly warnings: readonly string[] }
  | { readonly kind: 'dry-run'; readonly preview: Preview };

export interface Preview {
  readonly changes: readonly ObjectChange[];
  /** Null when the patterns are too entangled to tell. */
  readonly impact: readonly AccessChange[] | null;
  /** What the author should look at; absent when there is nothing. */
  readonly warnings?: readonly string[];
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
  // So that the transaction has little to catch up with.
  await deps.refresh();
  if (request.dryRun) {
    const { roles, groups, names } = edit.members;
    const isNarrow = roles.length + groups.length === 0;
    const read = isNarrow ? readForChange : readWhole;
    const { before, after, warnings } = await deps.store.view(async (reader) =>
      readAndEdit(reader, await asOf(deps, reader), request, edit, read),
    );
    const found = await preview(
      deps,
      request.caller,
      before.content,
      after,
      isNarrow ? { names, sameRules: before.withoutRules } : undefined,
    );
    return { kind: 'dry-run', preview: withWarnings(found, warnings) };
  }
  return changeAndFollow(deps, request, async (transaction): Promise<ChangeOutcome> => {
    const { before, after, warnings } = await readAndEdit(transaction, await asOf(deps, transaction), request, edit);
    await transaction.saveExcerpt(before, after);
    if (request.removeMemberships === true) await removeMemberships(transaction, lostNames(before.content, after));
    // As the next reader sees it, with the ids that the store gave to new rules: its entity tag is then that of the answer.
    const saved = await readForChange(transaction, edit.domain, edit.members);
    const view = saved && edit.view(saved.content);
    return { kind: 'done', created: edit.view(before.content) === undefined, view, warnings };
  });
}

/** Makes a change, and answers when every process of this server follows it. Throws what `work` and `followed` throw. */
export async function changeAndFollow<Result>(
  deps: Pick<ManagementDeps, 'store' | 'changed'>,
  { context }: Pick<ChangeRequest, 'context'>,
  work: (transaction: StoreTransaction) => Promise<Result>,
): Promise<Result> {
  const result = await deps.store.change(context, work).catch(async (error: unknown) => {
    // A deletion that is sent again finds nothing any more, which is as good as an acknowledgement.
    if (error instanceof NotFoundError || error instanceof UnknownDomainError) await followed(deps);
    throw error;
  });
  await followed(deps);
  return result;
}

/** Waits until every process of this server follows what was changed; then it is acknowledged. Throws `ServiceUnavailableError`. */
async function followed({ changed }: Pick<ManagementDeps, 'changed'>): Promise<void> {
  await changed().catch((cause: unknown) => {
    throw notFollowed(cause);
  });
}

/**
 * The same, with rights as they are in the transaction that makes the change, whichever server changed them last: they may have been taken
 * away while it waited for its turn.
 */
export async function asOf<Deps extends Pick<ManagementDeps, 'snapshot' | 'snapshotAt'>>(
  deps: Deps,
  reader: Pick<StoreReader, 'source'>,
): Promise<Deps> {
  const snapshot = await deps.snapshotAt(reader.source());
  return { ...deps, snapshot: () => snapshot };
}

/** A preview with what its author should look at. */
export function withWarnings(found: Preview, warnings: readonly string[]): Preview {
  return warnings.length === 0 ? found : { ...found, warnings: [...(found.warnings ?? []), ...warnings] };
}

async function readAndEdit(
  reader: StoreReader,
  deps: ManagementDeps,
  request: ChangeRequest,
  edit: DomainEdit,
  read = readForChange,
) {
  const excerpt = await read(reader, edit.domain, edit.members);
  if (excerpt === undefined) throw new UnknownDomainError(edit.domain);
  const query = { caller: request.caller, right: edit.right, domain: edit.domain, object: edit.object };
  const systemOnly = edit.systemOnly === true;
  const { isAdmin } = requireRight(deps.snapshot(), { ...query, systemOnly }, deps.clock.now());
  // A delegate's change is judged by the rules as well.
  const needsRules = !isAdmin && edit.members.withoutRules === true;
  const whole = needsRules ? await read(reader, edit.domain, { ...edit.members, withoutRules: false }) : excerpt;
  const before = whole ?? excerpt;
  const after = await edited(deps, request, edit, { before, isAdmin, reader });
  const elsewhere = await elsewhereWarnings(deps, request, { before: before.content, after, reader });
  return { before, after, warnings: [...(await memberWarnings(before.content, after, reader)), ...elsewhere] };
}

/** What becomes of the entries of other domains that name what the change takes away: they go with it, or stay and grant nothing. */
async function elsewhereWarnings(
  deps: ManagementDeps,
  request: ChangeRequest,
  change: { readonly before: DomainContent; readonly after: DomainContent; readonly reader: StoreReader },
): Promise<readonly string[]> {
  const { before, after, reader } = change;
  if (request.removeMemberships !== true) return danglingWarnings(before, after, reader, seesDomain(deps, request));
  const { sees } = viewerOf(deps.snapshot(), request.caller, deps.clock.now());
  const removed = await removalWarnings(reader, after.name, lostNames(before, after), { sees });
  return removed.map(({ text }) => text);
}

async function edited(
  deps: ManagementDeps,
  request: ChangeRequest,
  edit: DomainEdit,
  excerpt: { readonly before: DomainExcerpt; readonly isAdmin: boolean; readonly reader: StoreReader },
): Promise<DomainContent> {
  const snapshot = deps.snapshot();
  const now = deps.clock.now();
  const { isAdmin, reader } = excerpt;
  const { content: before, otherMembers } = excerpt.before;
  requireReason(before, request.context);
  requireMatch(request, edit.view(before));
  const applied = edit.apply(before);
  const wanted = request.removeMemberships === true ? withoutMembers(applied, lostNames(before, applied)) : applied;
  if (!isAdmin && (await changesManagers(before, wanted, { snapshot, reader }))) {
    throw new ForbiddenError('only an administrator may change who manages the domain');
  }
  const after = isAdmin ? wanted : withDelegatedKeys(before, wanted);
  checkQuotas(before, after, deps.quotas, otherMembers);
  const { sees } = viewerOf(snapshot, request.caller, now);
  const { allowWildcard } = request;
  const names = nameRulesOf(deps, request, before.name);
  await checkSafeguards(before, after, { allowWildcard, ...names, now, reader, sees });
  await checkPlantedKeys(before, after, reader, sees);
  return after;
}

/** Whether the author of a change may know of a domain. */
export function seesDomain({ snapshot, clock }: ManagementDeps, { caller }: ChangeRequest): SeesDomain {
  return (domain) => viewerOf(snapshot(), caller, clock.now()).sees(domain, 'domain');
}

/** How a request treats names. Throws `ForbiddenError` when somebody else than a system operator wants to use a reserved one. */
export function nameRulesOf(deps: ManagementDeps, request: ChangeRequest, domain: DomainName): NameRules {
  const { caller, reuseName, removeMemberships } = request;
  const query = { caller, right: 'manage_domain', domain } as const;
  if (reuseName === true && !isOperator(deps.snapshot(), query, deps.clock.now())) {
    throw new ForbiddenError(
      `only a system operator may use a reserved name: caller lacks \`manage_domain\` on \`${domain}\``,
    );
  }
  return { reuseName, removeMemberships, reservedMs: deps.nameReservationMs };
}

/** Throws `PreconditionFailedError` when the object is not as the caller knows it. */
export function requireMatch(request: ChangeRequest, view: unknown): void {
  const { ifMatch, mustBeNew } = request;
  if (mustBeNew && view !== undefined) throw new PreconditionFailedError('the object exists already');
  if (ifMatch === undefined) return;
  const fits = view !== undefined && (ifMatch.includes('*') || ifMatch.includes(entityTagOf(view)));
  if (!fits) throw new PreconditionFailedError('the object is not what it was: read it again');
}

/** What a change would do, as far as its author may know. With `part`, both sides may lack what it leaves as it is. */
export async function preview(
  deps: Pick<ManagementDeps, 'snapshot' | 'clock'>,
  caller: PrincipalName,
  before: DomainRecord | undefined,
  after: DomainContent,
  part?: Pick<DomainPatch, 'names' | 'sameRules'>,
): Promise<Preview> {
  const now = deps.clock.now();
  const snapshot = deps.snapshot();
  const record = asRecord(after, now);
  const known = snapshot.domain(after.name);
  const patch = known && part && { since: known.version, excerpt: record, ...part };
  const compiled = await runInSlices(
    compileInSteps(snapshot, {
      state: { epoch: snapshot.epoch, counter: snapshot.counter },
      ...(patch === undefined ? { domains: [record] } : { domains: [], patches: [patch] }),
      deleted: [],
      signingKeys: snapshot.signingKeys,
    }),
  );
  const changes = describeChanges(before, after);
  const sides = { before: snapshot, after: compiled.snapshot };
  return { changes, ...(await visibleImpact(sides, caller, after.name, now)) };
}

/** Who gains and who loses which access, as far as the author of the change may know. */
export async function visibleImpact(
  { before, after }: { readonly before: Snapshot; readonly after: Snapshot },
  caller: PrincipalName,
  domain: DomainName,
  now: number,
): Promise<Pick<Preview, 'impact' | 'warnings'>> {
  const viewer = viewerOf(before, caller, now);
  const folded = await unlessEntangled(foldedImpactInSteps(before, after, domain, viewer, now));
  if (folded === undefined) return { impact: null };
  const warnings = ['access may change in domains that you may not look at'];
  return { impact: folded.changes, ...(folded.more && { warnings }) };
}
