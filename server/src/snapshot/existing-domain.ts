import type { DomainName } from '@signet/policy-engine/names';
import { UnknownDomainError } from '../errors.ts';
import type { DomainSnapshot, Snapshot } from './snapshot.ts';

/** The enabled domain. Throws `UnknownDomainError`. */
export function existingDomain(snapshot: Pick<Snapshot, 'domain'>, name: DomainName): DomainSnapshot {
  const domain = snapshot.domain(name);
  if (domain === undefined) throw new UnknownDomainError(name);
  return domain;
}
