import { runInSlices } from '@signet/policy-engine/internal/slices';
import type { DomainName } from '@signet/policy-engine/names';
import { ConflictError, UnknownDomainError } from '../errors.ts';
import type { DomainContent } from '../model/records.ts';
import type { StoreReader } from '../model/store.ts';
import { diffInSteps } from '../store/diff-domains.ts';
import {
  asAsked,
  type ChangeOutcome,
  type ChangeRequest,
  changeAndFollow,
  judge,
  type ManagementDeps,
  requireMatch,
} from './change-domain.ts';
import { domainsReferringTo, referenceWarnings, removeReferencesTo } from './dangling.ts';
import { checkDeletable, domainView } from './edits/edit-domains.ts';
import { checkUnused, removalWarnings, removeMemberships } from './name-safeguards.ts';
import { preview, triedChange } from './preview.ts';
import { requireReason } from './require-reason.ts';
import { type CallerRights, lacksRight, rightsOf } from './rights.ts';

/** Makes a new domain. For system operators. Throws `ConflictError` when the name is taken. */
export async function createDomain(
  deps: ManagementDeps,
  request: ChangeRequest,
  content: DomainContent,
): Promise<ChangeOutcome> {
  await deps.refresh();
  requireOperator(rightsOf(deps.snapshot(), request.caller, deps.clock.now()), content.name);
  const change = await runInSlices(diffInSteps(undefined, content));
  const check = async (reader: StoreReader) => {
    const current = await asAsked(deps, request, reader);
    requireOperator(current.rights, content.name);
    if ((await reader.attributes(content.name)) !== undefined)
      throw new ConflictError(`domain \`${content.name}\` exists already`);
    requireReason(content, request.context);
    return await judge(current, request, change, reader);
  };
  if (request.dryRun) {
    return preview(deps, request, content.name, () =>
      deps.store.view(async (reader) => triedChange(change, reader.state(), await check(reader))),
    );
  }
  const warnings = await changeAndFollow(deps, request, async (transaction) => {
    const found = await check(transaction);
    await transaction.save(change);
    return found;
  });
  return { kind: 'done', created: true, view: domainView(content), warnings };
}

/** Deletes a disabled domain, and the references to it in others. For system operators. Throws `ConflictError`. */
export async function deleteDomain(
  deps: ManagementDeps,
  request: ChangeRequest,
  name: DomainName,
): Promise<ChangeOutcome> {
  const check = async (reader: StoreReader) => {
    const current = await asAsked(deps, request, reader);
    const domain = await reader.attributes(name);
    if (domain === undefined) throw new UnknownDomainError(name);
    requireOperator(current.rights, name);
    requireReason(domain, request.context);
    await requireMatch(request, domainView(domain));
    checkDeletable(domain);
    // Members `user.…` are users. Registered services alone do not suffice: the next owner of the name may create one
    // of any name, and each would match a pattern.
    const members = name === 'user' ? [] : await reader.membersOf(name);
    const { sees } = current.rights;
    if (request.removeMemberships !== true) await checkUnused(reader, name, members, sees);
    const removed = await removalWarnings(reader, name, members, sees);
    const seesDomain = (domain: DomainName) => sees(domain, 'domain');
    return { members, removed: removed.map(({ text }) => text), seesDomain };
  };
  await deps.refresh();
  if (request.dryRun) {
    return preview(deps, request, name, async () => {
      const warnings = await deps.store.view(async (reader) => {
        const { removed, seesDomain } = await check(reader);
        return [...removed, ...referenceWarnings(await domainsReferringTo(reader, name), name, seesDomain)];
      });
      const changes = [{ change: 'delete', kind: 'domain', domain: name, name }] as const;
      return { changes, change: { kind: 'delete' }, warnings };
    });
  }
  const warnings = await changeAndFollow(deps, request, async (transaction) => {
    const { members, removed, seesDomain } = await check(transaction);
    await removeMemberships(transaction, members);
    const ended = await removeReferencesTo(transaction, name, seesDomain);
    await transaction.deleteDomain(name);
    return [...removed, ...ended];
  });
  return { kind: 'done', created: false, view: undefined, warnings };
}

function requireOperator(rights: CallerRights, domain: DomainName): void {
  if (!rights.operates(domain)) throw lacksRight(rights.caller, 'manage_domain', `\`${domain}\``);
}
