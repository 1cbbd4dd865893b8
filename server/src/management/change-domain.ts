import { createHash } from 'node:crypto';
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Clock } from '@signet/policy-engine/clock';
import { runInSlices } from '@signet/policy-engine/internal/slices';
import type { DomainName, PrincipalName } from '@signet/policy-engine/names';
import { ForbiddenError, NotFoundError, PreconditionFailedError, UnknownDomainError } from '../errors.ts';
import type { AssertionCount, ChangeContext, DomainContent, DomainRecord } from '../model/records.ts';
import type { DomainExcerpt, DomainScope, Store, StoreReader, StoreTransaction } from '../model/store.ts';
import { notFollowed } from '../peers.ts';
import type { SnapshotAt } from '../snapshot/live-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { jsonInSteps, piecesOf } from '../steps/json-steps.ts';
import type { Steps } from '../steps/steps.ts';
import { danglingWarnings, type SeesDomain } from './dangling.ts';
import type { DryRuns } from './dry-runs.ts';
import { changesManagers } from './managers.ts';
import { readForChange } from './member-scope.ts';
import { memberWarnings } from './member-warnings.ts';
import { lostNames, type NameRules, removalWarnings, removeMemberships, withoutMembers } from './name-safeguards.ts';
import { checkPlantedKeys, withDelegatedKeys } from './planted-keys.ts';
import { type Preview, preview, triedChange } from './preview.ts';
import { checkAssertionCount, checkQuotas, type Quotas } from './quotas.ts';
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
  readonly dryRuns: DryRuns;
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
  /** Aborted when nobody waits for the answer any more; only dry runs stop. */
  readonly signal?: AbortSignal;
  /** Told what was read of the domain to judge the change, also when it is refused. */
  readonly onRead?: (domain: DomainRecord) => void;
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
  /** What the change has to do with. It sees nothing else of the domain, and leaves it as it is. */
  readonly scope: DomainScope;
  /** What the caller sees of the object, the base of its entity tag; undefined when there is none. */
  view(domain: DomainContent): unknown;
  /** How many assertions the domain would have: too many are refused before anything else is read. */
  assertionsAfter?(counts: readonly AssertionCount[]): number;
  /** Throws `NotFoundError`, `ConflictError` or `InvalidRequestError`. */
  apply(domain: DomainRecord): DomainContent;
}

export type ChangeOutcome =
  | { readonly kind: 'done'; readonly created: boolean; readonly view: unknown; readonly warnings: readonly string[] }
  | { readonly kind: 'dry-run'; readonly preview: Preview };

/** The strong entity tag of an object by its JSON: equal for equal content. */
export function* entityTagInSteps(json: string): Steps<string> {
  const hash = createHash('sha256');
  for (const piece of piecesOf(json)) {
    hash.update(piece);
    yield;
  }
  return `"${hash.digest('base64url').slice(0, 27)}"`;
}

function* tagOfView(view: unknown): Steps<string> {
  return yield* entityTagInSteps(yield* jsonInSteps(view));
}

/**
 * Makes one change of one domain in one transaction with its audit record, or says what it would do. Existence comes before
 * rights (docs/reference/http.md#order-of-checks). Throws `UnknownDomainError`, `ForbiddenError`, `PreconditionFailedError`, and what the
 * edit throws.
 */
export async function changeDomain(
  deps: ManagementDeps,
  request: ChangeRequest,
  edit: DomainEdit,
): Promise<ChangeOutcome> {
  if (request.dryRun) return tryChange(deps, request, edit);
  // So that the transaction has little to catch up with.
  await deps.refresh();
  return changeAndFollow(deps, request, async (transaction): Promise<ChangeOutcome> => {
    const { before, after, wasThere, warnings } = await readAndEdit(
      transaction,
      await asOf(deps, transaction),
      request,
      edit,
    );
    await yieldToOthers();
    await transaction.saveExcerpt(before, after);
    if (request.removeMemberships === true) await removeMemberships(transaction, lostNames(before.content, after));
    // As the next reader sees it, with the ids that the store gave to new rules: its entity tag is then that of the answer.
    const saved = await readForChange(transaction, edit.domain, edit.scope);
    await yieldToOthers();
    const view = saved && edit.view(saved.content);
    return { kind: 'done', created: !wasThere, view, warnings };
  });
}

function tryChange(deps: ManagementDeps, request: ChangeRequest, edit: DomainEdit): Promise<ChangeOutcome> {
  return preview(deps, request, edit.domain, async () => {
    await deps.refresh();
    const { state, before, after, warnings } = await deps.store.view(async (reader) => {
      const edited = await readAndEdit(reader, await asOf(deps, reader), request, edit);
      return { state: reader.state(), ...edited };
    });
    return await triedChange({ content: before.content, state }, after, warnings);
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

async function readAndEdit(reader: StoreReader, deps: ManagementDeps, request: ChangeRequest, edit: DomainEdit) {
  const attributes = await reader.attributes(edit.domain);
  if (attributes === undefined) throw new UnknownDomainError(edit.domain);
  const query = { caller: request.caller, right: edit.right, domain: edit.domain, object: edit.object };
  const systemOnly = edit.systemOnly === true;
  const { isAdmin } = requireRight(deps.snapshot(), { ...query, systemOnly }, deps.clock.now());
  if (edit.assertionsAfter !== undefined) {
    const counts = await reader.assertionCounts(edit.domain);
    checkAssertionCount(attributes, counts, edit.assertionsAfter(counts), deps.quotas);
  }
  // A delegate's change is judged by everything that gives authority.
  const scope = isAdmin ? edit.scope : { ...edit.scope, lists: 'all' as const, policies: true, services: true };
  const before = await readForChange(reader, edit.domain, scope);
  if (before === undefined) throw new UnknownDomainError(edit.domain);
  request.onRead?.(before.content);
  await yieldToOthers();
  const view = edit.view(before.content);
  await yieldToOthers();
  requireReason(before.content, request.context);
  await requireMatch(request, view);
  const after = await edited(deps, request, edit, { before, isAdmin, reader });
  await yieldToOthers();
  const elsewhere = await elsewhereWarnings(deps, request, { before: before.content, after, reader });
  const warnings = [...(await memberWarnings(before.content, after, reader)), ...elsewhere];
  return { before, after, wasThere: view !== undefined, warnings };
}

/** What becomes of the entries of other domains that name what the change removes: they go with it, or stay and grant nothing. */
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
  await yieldToOthers();
  await checkSafeguards(before, after, { allowWildcard, ...names, now, reader, sees });
  await yieldToOthers();
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
export async function requireMatch(request: ChangeRequest, view: unknown): Promise<void> {
  const { ifMatch, mustBeNew } = request;
  if (mustBeNew && view !== undefined) throw new PreconditionFailedError('the object exists already');
  if (ifMatch === undefined) return;
  const fits = view !== undefined && (ifMatch.includes('*') || ifMatch.includes(await runInSlices(tagOfView(view))));
  if (!fits) throw new PreconditionFailedError('the object is not what it was: read it again');
}
