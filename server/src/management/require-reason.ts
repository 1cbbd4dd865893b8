import { InvalidRequestError } from '../errors.ts';
import type { ChangeContext, DomainContent } from '../store/records.ts';

/** Throws `InvalidRequestError` when the domain wants to know why it is changed. */
export function requireReason(domain: DomainContent, context: ChangeContext): void {
  if (domain.requireReason !== true || (context.reason ?? '').trim() !== '') return;
  throw new InvalidRequestError(`domain \`${domain.name}\` asks for a reason: reason is missing`);
}
