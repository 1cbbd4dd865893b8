import { maxBundleBytes } from '@signet/policy-engine/bundle';
import { ConflictError } from '../errors.ts';
import type { AssertionRecord, PolicyRecord } from '../model/records.ts';
import type { ChangeRule } from './change-rule.ts';

/** Bytes of an assertion in a bundle beside its texts: names of members, effect, id and case. */
const bytesAroundAssertion = 128;

/** Bytes of a bundle beside assertions: at most 2000 names of policies, and what signs them. */
const rest = 2_097_152;

/** Upper bound of the assertions in a bundle: base64url makes four characters of three bytes. */
const maxPolicyBytes = Math.floor((maxBundleBytes / 4) * 3) - rest;

/**
 * Refuses more policy in force than a bundle may hold: hosts would not get it. What is above the bound already may stay, and shrink. The size
 * is an upper bound, for a change must never be refused where hosts fetch it.
 */
export const bundleSizeOfDomain: ChangeRule = async (change, { reader }) => {
  const { removed, added, changed } = change.policies;
  const before = sum([...removed, ...changed.map((policy) => policy.before)]);
  const growth = sum([...added, ...changed.map(({ after }) => after)]) - before;
  if (growth <= 0) return [];
  const stored = change.before === undefined ? 0 : await reader.policyBytes(change.name, bytesAroundAssertion);
  if (stored + growth <= maxPolicyBytes) return [];
  const text = `domain \`${change.name}\` would have more policy than a bundle may hold (${maxBundleBytes} bytes): remove assertions or versions in force, or divide the domain`;
  return [{ error: new ConflictError(text), path: ['policies'] }];
};

function sum(policies: readonly PolicyRecord[]): number {
  return policies.reduce((bytes, policy) => bytes + (policy.active ? bytesOf(policy.assertions) : 0), 0);
}

/** The same as `StoreReader.policyBytes` counts. */
function bytesOf(assertions: readonly AssertionRecord[]): number {
  return assertions.reduce((bytes, { role, action, resource, conditions }) => {
    const texts = [role, action, resource, conditions === undefined ? '' : JSON.stringify(conditions)];
    return texts.reduce((all, text) => all + Buffer.byteLength(text) + escapes(text), bytes + bytesAroundAssertion);
  }, 0);
}

/** Characters that JSON writes as two. */
function escapes(text: string): number {
  return text.length - text.replaceAll(/["\\]/g, '').length;
}
