import { createHash } from 'node:crypto';
import type { Clock } from '@signet/policy-engine/clock';
import { runInSlices } from '@signet/policy-engine/internal/slices';
import type { DomainName, PrincipalName } from '@signet/policy-engine/names';
import { type AskersCertificate, requireAsker } from '../access/recording-conditions.ts';
import { notFollowed } from '../base/peers.ts';
import { ForbiddenError, NotFoundError, PreconditionFailedError, UnknownDomainError } from '../errors.ts';
import type { DomainChange } from '../model/domain-change.ts';
import type { AssertionCount, ChangeContext, DomainAttributes, Quotas } from '../model/records.ts';
import type { Store, StoreReader, StoreTransaction } from '../model/store.ts';
import type { Compared } from '../roles/granted-roles.ts';
import type { SnapshotAt } from '../snapshot/live-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { jsonInSteps, piecesOf } from '../steps/json-steps.ts';
import type { Steps } from '../steps/steps.ts';
import type { NameRules, Sees } from './change-rule.ts';
import { checkChange } from './check-change.ts';
import { danglingWarnings } from './dangling.ts';
import { dnsWarnings } from './dns-warnings.ts';
import type { DryRuns } from './dry-runs.ts';
import { changesManagers } from './managers.ts';
import { memberWarnings } from './member-warnings.ts';
import { lostNames, removalWarnings, removeMemberships, withoutMembers } from './name-safeguards.ts';
import { withDelegatedKeys } from './planted-keys.ts';
import { type Preview, preview, triedChange } from './preview.ts';
import { checkAssertionCount } from './quotas.ts';
import { requireReason } from './require-reason.ts';
import { type CallerRights, lacksRight, type Right, rightsOf } from './rights.ts';
import { StoreAfter } from './store-after.ts';

export interface ManagementDeps {
  readonly store: Store;
  readonly snapshot: () => Snapshot;
  readonly snapshotAt: SnapshotAt;
  readonly refresh: () => Promise<void>;
  /** Makes every process of this server follow a change at once. */
  readonly changed: () => Promise<unknown>;
  readonly clock: Clock;
  readonly quotas: Quotas;
  readonly dryRuns: DryRuns;
  /** Reservation time of names; default 30 days. */
  readonly nameReservationMs?: number;
}

/** Dependencies in the transaction of a change, with the caller's rights as of it: every rule reads these. */
interface JudgingDeps extends ManagementDeps {
  readonly rights: CallerRights;
}

/** Caller and options of a change. */
export interface ChangeRequest {
  readonly caller: PrincipalName;
  /** The caller's client certificate; undefined for local commands. */
  readonly certificate?: AskersCertificate;
  readonly context: ChangeContext;
  /** Entity tags of which the object must have one; `*`: it must exist. */
  readonly ifMatch?: readonly string[];
  /** The object must not exist yet. */
  readonly mustBeNew: boolean;
  readonly dryRun: boolean;
  /** Aborted when the caller stops waiting; only dry runs stop. */
  readonly signal?: AbortSignal;
  /** Called with the number of rows of domains that were read to judge the change, also when it is refused. */
  readonly onRead?: (rows: number) => void;
  /** Called with the cost of decisions about the caller's rights. */
  readonly compared?: Compared;
  readonly allowWildcard: boolean;
  /** Option of `NameRules`. */
  readonly removeMemberships?: boolean;
  /** Option of `NameRules`; for system operators. */
  readonly reuseName?: boolean;
}

/** Kind of change: its object, the right that it requires, and the change itself. */
export interface DomainEdit {
  readonly domain: DomainName;
  readonly right: Right;
  /** Object of the right: `role.reader` and so on. */
  readonly object: string;
  /** True if only the policy of `sys.auth` grants the right. */
  readonly systemOnly?: boolean;
  /** How many assertions the domain would have: too many are refused before anything else is read. */
  assertionsAfter?(counts: readonly AssertionCount[]): number;
  /** Reads what the change is about. */
  read(reader: StoreReader, stored: DomainAttributes): Promise<EditedObject>;
}

interface EditedObject {
  /** View of it for the caller, the base of its entity tag; undefined if absent. */
  readonly view: unknown;
  /** Throws `NotFoundError`, `ConflictError` or `InvalidRequestError`. */
  change(): DomainChange | Promise<DomainChange>;
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
  // Refreshed first, so that the transaction has little to catch up with.
  await deps.refresh();
  return changeAndFollow(deps, request, async (transaction): Promise<ChangeOutcome> => {
    const current = await asAsked(deps, request, transaction);
    const { change, wasThere, warnings } = await paid(request, transaction, () =>
      plan(current, request, edit, transaction),
    );
    await transaction.save(change);
    if (request.removeMemberships === true) await removeMemberships(transaction, lostNames(change));
    // View for the next reader, with the ids that the store gave to new assertions: its entity tag is then that of the answer.
    const view = await viewOf(edit, transaction);
    return { kind: 'done', created: !wasThere, view, warnings };
  });
}

function tryChange(deps: ManagementDeps, request: ChangeRequest, edit: DomainEdit): Promise<ChangeOutcome> {
  return preview(deps, request, edit.domain, async () => {
    await deps.refresh();
    return await deps.store.view(async (reader) => {
      const current = await asAsked(deps, request, reader);
      const { change, warnings } = await paid(request, reader, () => plan(current, request, edit, reader));
      return await triedChange(change, reader.state(), warnings);
    });
  });
}

/** View of an edit's object for the caller; undefined if absent. Throws `UnknownDomainError`. */
async function viewOf(edit: Pick<DomainEdit, 'domain' | 'read'>, reader: StoreReader): Promise<unknown> {
  const stored = await reader.attributes(edit.domain);
  if (stored === undefined) throw new UnknownDomainError(edit.domain);
  return (await edit.read(reader, stored)).view;
}

/** Charges rows read by `work` to the request's budget, even on failure. */
async function paid<Result>(
  { onRead }: Pick<ChangeRequest, 'onRead'>,
  reader: StoreReader,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } finally {
    onRead?.(reader.rowsRead());
  }
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
export async function followed({ changed }: Pick<ManagementDeps, 'changed'>): Promise<void> {
  await changed().catch((cause: unknown) => {
    throw notFollowed(cause);
  });
}

/**
 * The same, with the caller's rights in the transaction that makes the change, whichever server changed them last: they may have been
 * revoked while it waited for its turn. Throws when who asks, or its certificate, counts no more.
 */
export async function asAsked(
  deps: ManagementDeps,
  { caller, certificate, compared }: Pick<ChangeRequest, 'caller' | 'certificate' | 'compared'>,
  reader: Pick<StoreReader, 'source' | 'isRevoked'>,
): Promise<JudgingDeps> {
  const snapshot = await deps.snapshotAt(reader.source());
  await requireAsker(reader, snapshot, { principal: caller, certificate });
  return { ...deps, snapshot: () => snapshot, rights: rightsOf(snapshot, caller, deps.clock.now(), compared) };
}

interface Planned {
  readonly change: DomainChange;
  /** True if the object exists already. */
  readonly wasThere: boolean;
  readonly warnings: readonly string[];
}

async function plan(
  deps: JudgingDeps,
  request: ChangeRequest,
  edit: DomainEdit,
  reader: StoreReader,
): Promise<Planned> {
  const stored = await reader.attributes(edit.domain);
  if (stored === undefined) throw new UnknownDomainError(edit.domain);
  const { isAdmin } = deps.rights.require(edit);
  if (edit.assertionsAfter !== undefined) {
    const counts = await reader.assertionCounts(edit.domain);
    checkAssertionCount(stored, counts, edit.assertionsAfter(counts), deps.quotas);
  }
  const object = await edit.read(reader, stored);
  requireReason(stored, request.context);
  await requireMatch(request, object.view);
  const wanted = await object.change();
  const removed = request.removeMemberships === true ? lostNames(wanted) : [];
  const change = removed.length === 0 ? wanted : await withoutMembers(reader, wanted, removed);
  const after = new StoreAfter(reader, [change]);
  if (!isAdmin && (await changesManagers(change, { snapshot: deps.snapshot(), reader, after }))) {
    throw new ForbiddenError('only an administrator may change who manages the domain');
  }
  const judged = isAdmin ? change : withDelegatedKeys(change);
  const warnings = await judge(deps, request, judged, reader);
  return { change: judged, wasThere: object.view !== undefined, warnings };
}

/** Holds a change to the rules, and answers what its author should look at although it is made. */
export async function judge(
  deps: JudgingDeps,
  request: ChangeRequest,
  change: DomainChange,
  reader: StoreReader,
): Promise<readonly string[]> {
  const now = deps.clock.now();
  const { allowWildcard } = request;
  const { quotas, rights } = deps;
  const { sees } = rights;
  const after = new StoreAfter(reader, [change]);
  const names = nameRulesOf(deps, request, change.name);
  await checkChange(change, { ...names, reader, after, now, allowWildcard, quotas, sees });
  const missing = await memberWarnings(change, reader, now);
  return [...missing, ...dnsWarnings(change), ...(await elsewhereWarnings(request, change, after, sees))];
}

/** Warnings about the entries of other domains that name what the change removes: they are removed with it, or stay and grant nothing. */
async function elsewhereWarnings(
  request: ChangeRequest,
  change: DomainChange,
  after: StoreAfter,
  sees: Sees,
): Promise<readonly string[]> {
  if (request.removeMemberships !== true) return danglingWarnings(change, after, (domain) => sees(domain, 'domain'));
  const removed = await removalWarnings(after, change.name, lostNames(change), sees);
  return removed.map(({ text }) => text);
}

/**
 * Name rules of a request. Throws `ForbiddenError` if the caller wants to use a reserved name and is not a system
 * operator.
 */
function nameRulesOf(deps: JudgingDeps, request: ChangeRequest, domain: DomainName): NameRules {
  const { reuseName, removeMemberships } = request;
  if (reuseName === true && !deps.rights.operates(domain)) {
    throw lacksRight(deps.rights.caller, 'manage_domain', `\`${domain}\`, which a reserved name takes`);
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
