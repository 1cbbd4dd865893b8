import type { DomainName } from '@signet/policy-engine/names';
import {
  type DocumentProblem,
  InvalidDocumentError,
  PolicyTestsFailedError,
  PreconditionFailedError,
  ServiceUnavailableError,
} from '../errors.ts';
import { isEmpty } from '../model/domain-change.ts';
import { emptyDomain } from '../model/empty-domain.ts';
import type { ChangeContext, DomainContent, DomainRecord } from '../model/records.ts';
import type { SaveOutcome, Store, StoreReader, StoreTransaction } from '../model/store.ts';
import type { OnProgress } from '../steps/progress.ts';
import { type DocumentChange, flagsOf } from './document-refusals.ts';
import type { DocumentFolder } from './documents/read-folder.ts';
import { applyDelta, deltaOf } from './domain-delta.ts';
import { type AuthorRights, type DocumentAuthor, type JudgingOptions, judgeDocuments } from './judge-documents.ts';
import { lostNames, removeMemberships } from './name-safeguards.ts';
import { isStill } from './plan-basis.ts';
import { makePlan } from './plan-documents.ts';
import { endingBy, recordBreakGlass } from './requests/break-glass.ts';
import { mostOf, type Needs, neededForAll, requireNoApproval } from './requests/needed.ts';
import { requireReason } from './require-reason.ts';
import { lacksRight } from './rights.ts';

interface AppliedDomain {
  readonly name: DomainName;
  readonly outcome: SaveOutcome['kind'];
  readonly version: number;
}

export interface ApplySummary {
  readonly domains: readonly AppliedDomain[];
  readonly casesPassed: number;
  /** Warnings for the author about what was applied. */
  readonly warnings: readonly DocumentProblem[];
}

export interface ApplyOptions extends JudgingOptions {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Digest of the effect that the author has seen; absent: whatever the effect is. */
  readonly plan?: string;
  /** True to apply them without the approvals that they need, which other persons review afterwards. */
  readonly breakGlass?: boolean;
  /** Latest end of memberships that the change makes, in milliseconds since the epoch. */
  readonly membersUntil?: number | undefined;
  readonly onProgress?: OnProgress;
}

/** Remedy for missing approvals beside the store, where there are no change requests. */
const besideStore = 'ask a server (--request with --as, --cert or a client configuration), or add --break-glass';

/** Maximum number of attempts when what the documents have to do with is changed meanwhile. */
const maxTries = 3;

/**
 * Applies documents: their domains become exactly what they state, in one transaction: references and the rules of the management API are
 * checked, the cases run on the result, and only then something is written. Domains without a document stay as they are, public keys and the
 * endpoint of services whose document names none too: the owners of a service register them. Throws `InvalidDocumentError` with every problem
 * and every failing case, `PreconditionFailedError` when the effect is not the one of the `plan`, `ForbiddenError`, `InvalidRequestError` when a
 * domain asks for a reason, `ConflictError` when approvals are missing; then nothing has changed.
 */
export async function applyDocuments(
  store: Store,
  folder: DocumentFolder,
  context: ChangeContext,
  options: ApplyOptions,
): Promise<ApplySummary> {
  const { plan: digest, now, onProgress, breakGlass: _, membersUntil: __, ...rules } = options;
  if (digest === undefined) {
    return store.change(context, (transaction) => applyIn(transaction, folder, context, options));
  }
  for (let tries = 1; tries <= maxTries; tries += 1) {
    const { plan, basis } = await makePlan(store, folder, now, {
      ...rules,
      ...(onProgress !== undefined && { onProgress }),
    });
    if (plan.digest !== digest) throw new PreconditionFailedError('the effect differs from the plan: plan again');
    const applied = await store.change(context, async (transaction) => {
      return (await isStill(basis, transaction)) ? applyIn(transaction, folder, context, options) : undefined;
    });
    if (applied !== undefined) return applied;
  }
  throw new ServiceUnavailableError('the domains change all the time: apply again');
}

async function applyIn(
  transaction: StoreTransaction,
  folder: DocumentFolder,
  context: ChangeContext,
  { now, onProgress, plan: _, breakGlass, ...rules }: ApplyOptions,
): Promise<ApplySummary> {
  const judged = await documentsToApply(transaction, folder, context, { ...rules, now });
  const needed = mostOf(judged.needs.values());
  if (breakGlass !== true) requireNoApproval(needed, rules.author === undefined ? besideStore : undefined);
  const summary = await judged.save(transaction, onProgress);
  if (needed.approvals > 0) {
    const content = { kind: 'documents', files: [], flags: flagsOf(rules) } as const;
    await recordBreakGlass(transaction, { content, context, now, moved: judged.moved, needs: judged.needs });
  }
  return summary;
}

/** Documents that may be applied, but for approvals that they need. */
interface DocumentsToApply {
  readonly moved: readonly DocumentChange[];
  /** Approvals that are missing: none where the author holds `apply_reviewed`. */
  readonly needs: Needs;
  readonly rights: AuthorRights;
  readonly domains: ReadonlyMap<DomainName, DomainRecord>;
  readonly casesPassed: number;
  save(transaction: StoreTransaction, onProgress?: OnProgress): Promise<ApplySummary>;
}

/** Judges documents to be applied. Throws what refuses them. */
export async function documentsToApply(
  reader: StoreReader,
  folder: DocumentFolder,
  context: ChangeContext,
  { now, membersUntil, ...rules }: JudgingOptions & Pick<ApplyOptions, 'now' | 'membersUntil'>,
): Promise<DocumentsToApply> {
  const { warnings, refusals, cases, rights, domains, ...judged } = await judgeDocuments(reader, folder, now, rules);
  const changes = membersUntil === undefined ? judged.changes : judged.changes.map((one) => ended(one, membersUntil));
  const { author } = rules;
  if (author !== undefined) {
    for (const change of changes) requireRights(change, rights, author, rules.reuseName === true);
  }
  if (refusals.length > 0) throw new InvalidDocumentError(refusals);
  if (cases.failures.length > 0) throw new PolicyTestsFailedError(cases.failures);
  const moved = changes.filter(({ change }) => !isEmpty(change));
  for (const { before } of moved) if (before !== undefined) requireReason(before, context);
  const needs = await neededForAll(moved, reader);
  return {
    moved,
    needs: new Map([...needs].filter(([name]) => !rights.holds('apply_reviewed', name))),
    rights,
    domains,
    casesPassed: cases.passed,
    save: async (transaction, onProgress) => {
      const saved: AppliedDomain[] = [];
      for (const { change } of changes) {
        const { kind, version } = await transaction.save(change);
        saved.push({ name: change.name, outcome: kind, version });
        onProgress?.('saving domains', saved.length, changes.length);
      }
      if (rules.removeMemberships === true) {
        const lost = changes.flatMap(({ change }) => lostNames(change));
        await removeMemberships(transaction, lost);
      }
      return { domains: saved, casesPassed: cases.passed, warnings };
    },
  };
}

function ended({ change, ...one }: DocumentChange, until: number): DocumentChange {
  const bounded = endingBy(change, until);
  return { ...one, change: bounded, after: applyDelta(one.before ?? emptyDomain(change.name), deltaOf(bounded)) };
}

/**
 * Requires of an author of documents what the operations of the management API require: administrators change a domain, and system operators make
 * one, give it quotas and accounts, and use reserved names. Throws `ForbiddenError`.
 */
function requireRights(
  { before, after, change }: DocumentChange,
  rights: AuthorRights,
  { caller }: DocumentAuthor,
  reuseName: boolean,
): void {
  if (isEmpty(change)) return;
  const { name: domain } = change;
  const right = 'manage_domain';
  const operator = (what: string) => {
    if (!rights.operates(domain))
      throw lacksRight(caller, right, `\`${domain}\` in \`sys.auth\`, which ${what} requires`);
  };
  if (before === undefined) {
    operator('a new domain');
    return;
  }
  if (reuseName) operator('the use of a reserved name');
  if (differs(before.quotas, after.quotas)) operator('a change of `quotas`');
  if (differs(before.accounts, after.accounts)) operator('a change of `accounts`');
  const { isAdmin } = rights.require({ right, domain, object: 'domain' });
  if (!isAdmin) throw lacksRight(caller, right, `all of \`${domain}\`, which documents require`, domain);
}

function differs(before: DomainContent['quotas' | 'accounts'], after: DomainContent['quotas' | 'accounts']): boolean {
  return JSON.stringify(before ?? {}) !== JSON.stringify(after ?? {});
}
