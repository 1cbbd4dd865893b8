import { issuedSkew } from '@signet/policy-engine/bundle';
import { runInSlices } from '@signet/policy-engine/internal/slices';
import type { Kysely } from 'kysely';
import { changesFields, type DomainChange } from '../model/domain-change.ts';
import { rowOf } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import type { DomainFields, PolicyRecord, StoredAssertion, StoredPolicy } from '../model/records.ts';
import { type Steps, sliceLength } from '../steps/steps.ts';
import type { Schema } from './database-schema.ts';
import { isSameAssertion, isSameInBundle, plainAssertion } from './diff-domains.ts';
import { chunks, flag } from './row-values.ts';
import { writeLists } from './write-lists.ts';
import { writeServices } from './write-services.ts';

interface WriteContext {
  readonly db: Kysely<Schema>;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The policy version after the change, and whether the change moves it. */
  readonly policy: PolicyVersion & { readonly moves: boolean };
  nextId(): number;
}

/** The policy version of a domain, and when it came about (milliseconds since the epoch). */
export interface PolicyVersion {
  readonly version: number;
  readonly modified: number;
}

/** The one after the last one of a domain, deleted or not. */
export function nextPolicyVersion(last: PolicyVersion | undefined, now: number): PolicyVersion {
  return { version: (last?.version ?? 0) + 1, modified: modifiedAfter(last?.modified, now) };
}

const rowsAStatement = 500;

/** Writes only what differs. */
export async function writeDomain(context: WriteContext, change: DomainChange): Promise<void> {
  const { name, after, policies, services } = change;
  const differs = changesFields(change);
  if (differs || context.policy.moves) await writeDomainRow(context, after);
  if (differs) await writeAccounts(context, after);
  await writeLists(context.db, change);
  await writePolicies(context, name, policies);
  await writeServices(context, name, services);
}

/**
 * Time of a policy change: always after the last one, though the clock was set back, as hosts refuse a bundle that was issued before the one
 * that they have, and others know a change by this time alone. A last change further ahead than any host accepts was the mistake of a clock.
 */
function modifiedAfter(last: number | undefined, now: number): number {
  return last === undefined || last > now + issuedSkew ? now : Math.max(last + 1, now);
}

async function writeDomainRow({ db, policy }: WriteContext, domain: DomainFields): Promise<void> {
  const row = {
    deleted: 0,
    policy_version: policy.version,
    policy_modified: policy.modified,
    ...rowOf(recordFields.domain, domain),
    ...rowOf(recordFields.limits, domain.limits),
    quotas: domain.quotas === undefined ? null : JSON.stringify(domain.quotas),
  };
  await db
    .insertInto('domains')
    // DNS form and reuse of names are written where names begin and end.
    .values({ name: domain.name, dns_form: null, credentials_from: 0, ...row })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
    .execute();
}

async function writeAccounts({ db }: WriteContext, { name, accounts }: DomainFields): Promise<void> {
  await db.deleteFrom('cloud_accounts').where('domain', '=', name).execute();
  for (const [provider, account] of Object.entries(rowOf(recordFields.accounts, accounts))) {
    if (account !== null) await db.insertInto('cloud_accounts').values({ domain: name, provider, account }).execute();
  }
}

async function writePolicies(
  context: WriteContext,
  domain: string,
  { removed, added, changed }: DomainChange['policies'],
): Promise<void> {
  for (const policy of removed) await removePolicy(context, domain, policy);
  for (const policy of added) await writePolicy(context, domain, policy, undefined);
  for (const { before, after } of changed) await writePolicy(context, domain, after, before);
}

async function removePolicy({ db }: WriteContext, domain: string, policy: PolicyRecord): Promise<void> {
  // Before the policy, which would remove all of them in one statement.
  await removeAssertions(db, domain, policy, { from: 0, to: policy.assertions.length });
  await db
    .deleteFrom('policies')
    .where('domain', '=', domain)
    .where('name', '=', policy.name)
    .where('version', '=', policy.version)
    .execute();
}

/** Removes the assertions at these positions. */
async function removeAssertions(
  db: Kysely<Schema>,
  domain: string,
  { name, version }: PolicyRecord,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<void> {
  for (let at = from; at < to; at += rowsAStatement) {
    await db
      .deleteFrom('assertions')
      .where('domain', '=', domain)
      .where('policy', '=', name)
      .where('version', '=', version)
      .where('position', '>=', at)
      .where('position', '<', Math.min(at + rowsAStatement, to))
      .execute();
  }
}

/** The ids of rules as they were, by what they say: a rule that stays keeps its id. */
function* idsInSteps(stored: readonly StoredAssertion[]): Steps<Map<string, number[]>> {
  const ids = new Map<string, number[]>();
  // Equal assertions are matched from the end: the first one first.
  for (const [index, assertion] of stored.toReversed().entries()) {
    if (index % sliceLength === 0) yield;
    const text = JSON.stringify(plainAssertion(assertion));
    const same = ids.get(text);
    if (same === undefined) ids.set(text, [assertion.id]);
    else same.push(assertion.id);
  }
  return ids;
}

/** The rules before the first one that differs stay as they are: most changes are at the end. */
async function writePolicy(
  { db, now, nextId }: WriteContext,
  domain: string,
  policy: PolicyRecord,
  before: StoredPolicy | undefined,
): Promise<void> {
  const stored = before?.assertions ?? [];
  const row = {
    active: flag(policy.active),
    modified: before !== undefined && (await runInSlices(isSameInBundle(before, policy))) ? before.modified : now,
    ...rowOf(recordFields.policy, policy),
  };
  await db
    .insertInto('policies')
    .values({ domain, name: policy.name, version: policy.version, ...row })
    .onConflict((conflict) => conflict.columns(['domain', 'name', 'version']).doUpdateSet(row))
    .execute();
  const differing = stored.findIndex((assertion, index) => !isSameAssertion(assertion, policy.assertions[index]));
  const kept = differing < 0 ? stored.length : differing;
  const ids = await runInSlices(idsInSteps(stored.slice(kept)));
  await removeAssertions(db, domain, policy, { from: kept, to: stored.length });
  let position = kept;
  for (const part of chunks(policy.assertions.slice(kept), rowsAStatement)) {
    const rows = part.map((assertion) => ({
      id: ids.get(JSON.stringify(plainAssertion(assertion)))?.pop() ?? nextId(),
      domain,
      policy: policy.name,
      version: policy.version,
      position: position++,
      effect: assertion.effect,
      role: assertion.role,
      action: assertion.action,
      resource: assertion.resource,
      case_sensitive: flag(assertion.caseSensitive),
      conditions: assertion.conditions === undefined ? null : JSON.stringify(assertion.conditions),
    }));
    await db.insertInto('assertions').values(rows).execute();
  }
}
