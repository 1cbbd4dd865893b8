import type { ServerConfig } from '../config/config.ts';
import type { DocumentRules } from '../management/document-refusals.ts';
import { reservationOf } from '../management/name-safeguards.ts';

/** Options of commands that read documents: exceptions to allow. */
export interface DocumentRuleOptions {
  readonly allowWildcard?: boolean;
  readonly removeMemberships?: boolean;
  readonly reuseName?: boolean;
  readonly strict?: boolean;
}

export function documentRulesOf(options: DocumentRuleOptions, config: ServerConfig): DocumentRules {
  return {
    allowWildcard: options.allowWildcard === true,
    removeMemberships: options.removeMemberships === true,
    reuseName: options.reuseName === true,
    strict: options.strict === true,
    reservedMs: reservationOf(config),
    quotas: config.management.quotas,
  };
}
