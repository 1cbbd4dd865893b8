import type { DomainName } from '@signet/policy-engine/names';
import { defaultsOf } from './fields.ts';
import { recordFields } from './record-fields.ts';
import type { DomainContent } from './records.ts';

export function emptyDomain(name: DomainName): DomainContent {
  const nothing = { limits: {}, accounts: {}, roles: [], groups: [], policies: [], services: [] };
  return { name, ...defaultsOf(recordFields.domain), ...nothing };
}
