import { runInSlices } from '@signet/policy-engine/internal/slices';
import type { DomainName } from '@signet/policy-engine/names';
import { ConflictError, UnknownDomainError } from '../errors.ts';
import type { DomainContent } from '../model/records.ts';
import { diffInSteps } from '../store/diff-domains.ts';
import { domainsReferringTo, referenceWarnings, removeReferencesTo } from './dangling.ts';
import { checkDeletable, domainView } from './edits/edit-domains.ts';
import { type DomainOperation, judge, requireMatch } from './judge-edit.ts';
import { checkUnused, removalWarnings, removeMemberships } from './name-safeguards.ts';
import { neededForDeletion, noneNeeded } from './requests/needed.ts';
import { requireReason } from './require-reason.ts';
import { type CallerRights, lacksRight } from './rights.ts';

/** Makes a new domain. For system operators. Throws `ConflictError` when the name is taken. */
export function creation(content: DomainContent): DomainOperation {
  const { name } = content;
  return {
    domain: name,
    judge: async (deps, request, reader) => {
      requireOperator(deps.rights, name);
      if ((await reader.attributes(name)) !== undefined) throw new ConflictError(`domain \`${name}\` exists already`);
      requireReason(content, request.context);
      const change = await runInSlices(diffInSteps(undefined, content));
      const warnings = await judge(deps, request, change, reader);
      return {
        change,
        needed: noneNeeded,
        warnings,
        save: async (transaction) => {
          await transaction.save(change);
          return { created: true, view: domainView(content), warnings };
        },
      };
    },
  };
}

/** Deletes a disabled domain, and the references to it in others. For system operators. Throws `ConflictError`. */
export function deletion(name: DomainName): DomainOperation {
  return {
    domain: name,
    judge: async ({ rights }, request, reader) => {
      const domain = await reader.attributes(name);
      if (domain === undefined) throw new UnknownDomainError(name);
      requireOperator(rights, name);
      requireReason(domain, request.context);
      await requireMatch(request, domainView(domain));
      checkDeletable(domain);
      // Members `user.…` are users. Registered services alone do not suffice: the next owner of the name may create one
      // of any name, and each would match a pattern.
      const members = name === 'user' ? [] : await reader.membersOf(name);
      const { sees } = rights;
      if (request.removeMemberships !== true) await checkUnused(reader, name, members, sees);
      const removed = (await removalWarnings(reader, name, members, sees)).map(({ text }) => text);
      const seesDomain = (other: DomainName) => sees(other, 'domain');
      return {
        change: 'deletion',
        needed: await neededForDeletion(domain, reader),
        warnings: [...removed, ...referenceWarnings(await domainsReferringTo(reader, name), name, seesDomain)],
        save: async (transaction) => {
          await removeMemberships(transaction, members);
          const ended = await removeReferencesTo(transaction, name, seesDomain);
          await transaction.deleteDomain(name);
          return { created: false, view: undefined, warnings: [...removed, ...ended] };
        },
      };
    },
  };
}

function requireOperator(rights: CallerRights, domain: DomainName): void {
  if (!rights.operates(domain)) throw lacksRight(rights.caller, 'manage_domain', `\`${domain}\``);
}
