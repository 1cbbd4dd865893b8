import { formatTimestamp } from '../clock.ts';
import type { SignedPolicyData, WirePolicy } from '../wire/index.ts';
import { separateLaterConditions } from './later-conditions.ts';

/** Content of a bundle for one domain. */
export interface BundleInput {
  domain: string;
  /** Counter of restores of the store from a backup. */
  epoch: number;
  /** Number of changes of the domain. */
  version: number;
  /** Time of the domain's last change, in milliseconds since the epoch, as the two below. */
  modified: number;
  issued: number;
  expires: number;
  policies: readonly WirePolicy[];
}

/** The payload of a bundle: what is signed. Pure. */
export function buildBundle(input: BundleInput): SignedPolicyData {
  return {
    policyData: { domain: input.domain, policies: separateLaterConditions(input.policies) },
    modified: formatTimestamp(input.modified),
    issued: formatTimestamp(input.issued),
    expires: formatTimestamp(input.expires),
    version: input.version,
    epoch: input.epoch,
  };
}
