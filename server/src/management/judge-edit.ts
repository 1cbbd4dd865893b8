import { createHash } from 'node:crypto';
import type { Clock } from '@signet/policy-engine/clock';
import { runInSlices } from '@signet/policy-engine/internal/slices';
import type { DomainName, PrincipalName } from '@signet/policy-engine/names';
import type { AskersCertificate } from '../access/recording-conditions.ts';
import { ForbiddenError, PreconditionFailedError, UnknownDomainError } from '../errors.ts';
import type { DomainChange } from '../model/domain-change.ts';
import type { AssertionCount, ChangeContext, DomainAttributes, Quotas } from '../model/records.ts';
import type { StoreReader, StoreTransaction } from '../model/store.ts';
import type { Compared } from '../roles/granted-roles.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { jsonInSteps, piecesOf } from '../steps/json-steps.ts';
import type { Steps } from '../steps/steps.ts';
import { approvalWarnings } from './approval-warnings.ts';
import type { NameRules, Sees } from './change-rule.ts';
import { checkChange } from './check-change.ts';
import { danglingWarnings } from './dangling.ts';
import { dnsWarnings } from './dns-warnings.ts';
import { changesManagers } from './managers.ts';
import { memberWarnings } from './member-warnings.ts';
import { lostNames, removalWarnings, removeMemberships, withoutMembers } from './name-safeguards.ts';
import { newReferences } from './new-references.ts';
import { withDelegatedKeys } from './planted-keys.ts';
import { checkAssertionCount } from './quotas.ts';
import { endingBy } from './requests/break-glass.ts';
import { type Needed, neededFor } from './requests/needed.ts';
import { requireReason } from './require-reason.ts';
import { type CallerRights, lacksRight, type Right } from './rights.ts';
import { StoreAfter } from './store-after.ts';

/** Dependencies in the transaction of a change, with the caller's rights as of it: every rule reads these. */
export interface JudgingDeps {
  readonly snapshot: () => Snapshot;
  readonly clock: Clock;
  readonly quotas: Quotas;
  readonly nameReservationMs?: number;
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
  /** Latest end of memberships that the change makes, in milliseconds since the epoch. */
  readonly membersUntil?: number;
}

/** Change of one domain, as an operation of the management API asks for it. */
export interface DomainOperation {
  readonly domain: DomainName;
  /** Other domains that the change refers to, whose decisions judging it takes; none where it cannot be made. */
  readonly named?: (reader: StoreReader) => Promise<readonly DomainName[]>;
  /** Judges it by the caller's rights and all rules. Throws what refuses it. */
  judge(deps: JudgingDeps, request: ChangeRequest, reader: StoreReader): Promise<JudgedChange>;
}

/** A change that the rules permit: nothing is written yet. */
interface JudgedChange {
  /** `deletion`: the domain with all that it has. */
  readonly change: DomainChange | 'deletion';
  readonly needed: Needed;
  /** What its author should look at although it is made. */
  readonly warnings: readonly string[];
  /** Writes it in the transaction that judged it. */
  save(transaction: StoreTransaction): Promise<MadeChange>;
}

/** What is there after a change; `view` is undefined where nothing is. */
export interface MadeChange {
  readonly created: boolean;
  readonly view: unknown;
  readonly warnings: readonly string[];
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

/** Edit of a domain or one of its objects, as an operation. */
export function editing(edit: DomainEdit): DomainOperation {
  return {
    domain: edit.domain,
    named: (reader) => namedBy(edit, reader).catch(() => []),
    judge: async (deps, request, reader) => {
      const { change, wasThere, warnings } = await plan(deps, request, edit, reader);
      return {
        change,
        needed: await neededFor(change, reader),
        warnings,
        save: async (transaction) => {
          await transaction.save(change);
          if (request.removeMemberships === true) await removeMemberships(transaction, lostNames(change));
          // View for the next reader, with the ids that the store gave to new assertions: its entity tag is then that of the answer.
          return { created: !wasThere, view: await viewOf(edit, transaction), warnings };
        },
      };
    },
  };
}

async function namedBy(edit: DomainEdit, reader: StoreReader): Promise<readonly DomainName[]> {
  const stored = await reader.attributes(edit.domain);
  if (stored === undefined) return [];
  const change = await (await edit.read(reader, stored)).change();
  return newReferences(change).map(({ domain }) => domain);
}

/** View of an edit's object for the caller; undefined if absent. Throws `UnknownDomainError`. */
async function viewOf(edit: Pick<DomainEdit, 'domain' | 'read'>, reader: StoreReader): Promise<unknown> {
  const stored = await reader.attributes(edit.domain);
  if (stored === undefined) throw new UnknownDomainError(edit.domain);
  return (await edit.read(reader, stored)).view;
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
  const asked = await object.change();
  const wanted = request.membersUntil === undefined ? asked : endingBy(asked, request.membersUntil);
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
  const elsewhere = await elsewhereWarnings(request, change, after, sees);
  const approvals = (await approvalWarnings(change, { after, sees })).map(({ message }) => message);
  return [...missing, ...dnsWarnings(change), ...elsewhere, ...approvals];
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
