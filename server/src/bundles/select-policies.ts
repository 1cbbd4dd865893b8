import { type PolicyName, parsePolicyName } from '@signet/policy-engine/names';
import type { WirePolicy } from '@signet/policy-engine/wire';
import { InvalidRequestError } from '../errors.ts';

/** Requested version of a policy, by its short name; policies that are not named come in their active version. */
export type PolicyVersions = ReadonlyMap<PolicyName, string>;

const maxSelections = 100;
const versionGrammar = /^[a-z0-9_][a-z0-9_.-]{0,63}$/;

/** The `policyVersions` of a request for a bundle: names with or without `domain:policy.`, lower-cased. Throws `InvalidRequestError`. */
export function parsePolicyVersions(domain: string, versions: Readonly<Record<string, string>>): PolicyVersions {
  const prefix = `${domain}:policy.`;
  const selected = new Map<PolicyName, string>();
  for (const [key, value] of Object.entries(versions)) {
    const [name, version] = [key.toLowerCase(), value.toLowerCase()];
    const policy = parsePolicyName(name.startsWith(prefix) ? name.slice(prefix.length) : name, 'policyVersions');
    if (!versionGrammar.test(version)) throw new InvalidRequestError('policyVersions has a version that is not valid');
    if (selected.has(policy)) throw new InvalidRequestError('policyVersions names a policy twice');
    selected.set(policy, version);
  }
  if (selected.size > maxSelections)
    throw new InvalidRequestError(`policyVersions has more than ${maxSelections} entries`);
  return selected;
}

/** The policies of a bundle, in the order of their names: the selected version, active or not, else the active one. */
export function selectPolicies(policies: readonly WirePolicy[], versions: PolicyVersions): readonly WirePolicy[] {
  return policies
    .filter((policy) => {
      const wanted = versions.get(shortName(policy.name));
      return wanted === undefined ? policy.active !== false : (policy.version ?? '0').toLowerCase() === wanted;
    })
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Cache by policies in force; a snapshot keeps its list for as long as they do not change. */
const conditional = new WeakMap<readonly WirePolicy[], boolean>();

/** True if an assertion of the policies of a bundle has conditions. */
export function haveConditions(policies: readonly WirePolicy[], versions: PolicyVersions): boolean {
  const known = versions.size === 0 ? conditional.get(policies) : undefined;
  if (known !== undefined) return known;
  const found = selectPolicies(policies, versions).some(({ assertions }) =>
    assertions.some(({ conditions }) => conditions !== undefined),
  );
  if (versions.size === 0) conditional.set(policies, found);
  return found;
}

function shortName(full: string): PolicyName {
  return parsePolicyName(full.slice(full.indexOf(':policy.') + ':policy.'.length));
}
