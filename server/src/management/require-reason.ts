import { InvalidRequestError } from '../errors.ts';
import { notPlain, plainLine } from '../model/plain-text.ts';
import type { ChangeContext, DomainContent } from '../model/records.ts';

const maxReason = 1024;

/** Reason of an operator for a change. Throws `InvalidRequestError`. */
export function parseReason(text: string): string {
  if (text.length <= maxReason && plainLine.test(text)) return text;
  throw new InvalidRequestError(`reason: ${notPlain}, and must have at most ${maxReason} characters`);
}

/** Throws `InvalidRequestError` when the domain wants to know why it is changed. */
export function requireReason(domain: Pick<DomainContent, 'name' | 'requireReason'>, context: ChangeContext): void {
  if (domain.requireReason !== true || (context.reason ?? '').trim() !== '') return;
  throw new InvalidRequestError(`domain \`${domain.name}\` asks for a reason: reason is missing`);
}
