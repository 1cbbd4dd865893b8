import { createHash } from 'node:crypto';
import type { DocumentProblem } from '../errors.ts';
import type { AccessChange, ImpactTotals } from '../impact/impact.ts';
import type { StoreState } from '../model/store.ts';
import { flagsOf } from './document-refusals.ts';
import type { DocumentFolder } from './documents/read-folder.ts';
import type { JudgingOptions } from './judge-documents.ts';
import type { ObjectChange } from './object-changes.ts';
import type { PlanTotals } from './plan-totals.ts';

/** Effect of documents on a store, and on access. */
export interface Effect {
  readonly changes: readonly ObjectChange[];
  /** Impact; absent when the patterns are too complex to tell. */
  readonly impact?: readonly AccessChange[];
  /** Totals of the impact; present when it is too large to list. */
  readonly impactTotals?: ImpactTotals;
  readonly totals: PlanTotals;
  /** Reasons why `signet apply` with the same rules would refuse the documents; empty if none. */
  readonly refusals: readonly DocumentProblem[];
}

/** What documents ask for, as a part of the digest of their effect. */
export function askedByDocuments({ documents, cases }: DocumentFolder, options: JudgingOptions): readonly unknown[] {
  return [flagsOf(options), ...[...documents, ...cases].map(({ source }) => source.value)];
}

/**
 * Digest of the effect of what is asked for, as who asks sees it: 43 characters of base64url. Equal for the same request and effect, whatever
 * else has changed in the store. An effect that cannot be told in full is another one after any change of the store.
 */
export function effectDigest(
  asked: readonly unknown[],
  { changes, impact, impactTotals, totals, refusals }: Effect,
  state: StoreState,
): string {
  const isWhole = impact !== undefined && impactTotals === undefined;
  const told = refusals.map(({ field, message }) => [field, message]);
  const parts = [...asked, changes, impact ?? null, impactTotals ?? null, totals, told, isWhole ? null : state];
  const hash = createHash('sha256');
  // A line for each part: together they may be longer than a string can be.
  for (const part of parts) hash.update(`${JSON.stringify(part)}\n`);
  return hash.digest('base64url');
}
