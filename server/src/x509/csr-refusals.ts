import { InvalidRequestError } from '../errors.ts';
import { isDnsName } from './naming.ts';
import { type AltName, addressText } from './subject-alt-names.ts';

/** Refuses a request by the rule that it breaks. Throws `InvalidRequestError`. */
export function refuse(rule: string): never {
  throw new InvalidRequestError(`csr ${rule}`);
}

/** A name as refusals tell it. */
export function quoted(name: AltName): string {
  if (name.kind === 'ip') return ` \`${addressText(name.value)}\``;
  return name.value === '' ? '' : ` \`${name.value.slice(0, 256)}\``;
}

export function checkDnsForm(name: string): void {
  if (name.includes('_')) refuse(`dns name \`${name.slice(0, 256)}\` has an underscore, which no host name has`);
  if (!isDnsName(name)) refuse(`dns name \`${name.slice(0, 256)}\` is not a valid host name`);
}
