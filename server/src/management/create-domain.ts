import type { DomainName } from '@signet/policy-engine/names';
import { ConflictError, ForbiddenError, UnknownDomainError } from '../errors.ts';
import { compileSnapshot } from '../snapshot/compile-snapshot.ts';
import type { DomainContent } from '../store/records.ts';
import type { StoreReader } from '../store/store.ts';
import {
  type ChangeOutcome,
  type ChangeRequest,
  ignored,
  type ManagementDeps,
  type Preview,
  preview,
  requireMatch,
  withWarnings,
} from './change-domain.ts';
import { checkDeletable, domainView } from './edits/domains.ts';
import { noMembers } from './member-scope.ts';
import { memberWarnings } from './member-warnings.ts';
import { impactIfKnown } from './plan-documents.ts';
import { checkPlantedKeys } from './planted-keys.ts';
import { checkQuotas } from './quotas.ts';
import { requireReason } from './require-reason.ts';
import { isOperator } from './rights.ts';
import { checkSafeguards, checkUnused } from './safeguards.ts';

/** Makes a new domain. For system operators. Throws `ConflictError` when the name is taken. */
export async function createDomain(
  deps: ManagementDeps,
  request: ChangeRequest,
  content: DomainContent,
): Promise<ChangeOutcome> {
  await deps.refresh();
  requireOperator(deps, request, content.name);
  const check = async (reader: StoreReader) => {
    if ((await reader.excerpt(content.name, noMembers)) !== undefined)
      throw new ConflictError(`domain \`${content.name}\` exists already`);
    requireReason(content, request.context);
    checkQuotas(undefined, content, deps.quotas);
    const { allowWildcard } = request;
    await checkPlantedKeys(undefined, content, reader);
    await checkSafeguards(undefined, content, { allowWildcard, now: deps.clock.now(), reader });
    return await memberWarnings(undefined, content, reader);
  };
  if (request.dryRun) {
    const warnings = await deps.store.view(check);
    return { kind: 'dry-run', preview: withWarnings(await preview(deps, undefined, content), warnings) };
  }
  const warnings = await deps.store.change(request.context, async (transaction) => {
    const found = await check(transaction);
    await transaction.saveDomain(content);
    return found;
  });
  await deps.changed().catch(ignored);
  return { kind: 'done', created: true, view: domainView(content), warnings };
}

/** Deletes a disabled domain that no other one needs. For system operators. Throws `ConflictError`. */
export async function deleteDomain(
  deps: ManagementDeps,
  request: ChangeRequest,
  name: DomainName,
): Promise<ChangeOutcome> {
  const check = async (reader: StoreReader) => {
    const domain = (await reader.excerpt(name, noMembers))?.content;
    if (domain === undefined) throw new UnknownDomainError(name);
    requireOperator(deps, request, name);
    requireReason(domain, request.context);
    requireMatch(request, domainView(domain));
    checkDeletable(domain);
    await checkUnused(reader, name);
  };
  await deps.refresh();
  if (request.dryRun) {
    await deps.store.view(check);
    return { kind: 'dry-run', preview: await deletionPreview(deps, name) };
  }
  await deps.store.change(request.context, async (transaction) => {
    await check(transaction);
    await transaction.deleteDomain(name);
  });
  await deps.changed().catch(ignored);
  return { kind: 'done', created: false, view: undefined, warnings: [] };
}

function requireOperator(deps: ManagementDeps, { caller }: ChangeRequest, domain: DomainName): void {
  if (isOperator(deps.snapshot(), { caller, right: 'manage_domain', domain }, deps.clock.now())) return;
  throw new ForbiddenError(`caller lacks \`manage_domain\` on \`${domain}\``);
}

async function deletionPreview(deps: ManagementDeps, name: DomainName): Promise<Preview> {
  const before = deps.snapshot();
  const state = { epoch: before.epoch, counter: before.counter };
  const changes = { state, domains: [], deleted: [name], signingKeys: before.signingKeys };
  const { snapshot: after } = compileSnapshot(before, changes);
  return {
    changes: [{ change: 'delete', kind: 'domain', domain: name, name }],
    impact: (await impactIfKnown(before, after, deps.clock.now())) ?? null,
  };
}
