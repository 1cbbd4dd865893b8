import type { DomainError } from '../errors.ts';

/** Something that a change must not do. */
export interface SafeguardFault {
  readonly error: DomainError;
  /** Where it stands in the document of the domain: names as they are stored, of members too. */
  readonly path: readonly string[];
}
