import { shortText } from '../../base/short-text.ts';
import { InvalidRequestError } from '../../errors.ts';

/* Outputs of `zms-cli` and ZMS that hold a domain, and those that hold something else. */

/** Way to an export that is read whole, for messages. */
export const exportAgain = 'export the domain with `zms-cli -o json export-domain DOMAIN FILE`';

type Values = Readonly<Record<string, unknown>>;

/** Outputs for parts and lists, by a member that they have and a domain does not. */
const otherForms: readonly (readonly [member: string, what: string])[] = [
  ['names', 'a list of names'],
  ['list', 'a list of parts of a domain'],
  ...['role', 'group', 'policy', 'service', 'entity'].map((kind) => [kind, `a ${kind} alone`] as const),
  ['roleMembers', 'a role alone'],
  ['groupMembers', 'a group alone'],
  ['assertions', 'a policy alone'],
  ['publicKeys', 'a service alone'],
];

/**
 * The domain in an output: itself, or the one of `show-domain` and `get-signed-domains`. Throws `InvalidRequestError` that names the form for
 * any other: of a part or the attributes alone a domain without the rest would be made.
 */
export function domainIn(value: unknown): unknown {
  if (!isValues(value)) throw wrongForm(Array.isArray(value) ? 'a list' : 'no object');
  const { domains, domain } = value;
  if (Array.isArray(domains)) return onlyDomain(domains);
  if (isValues(domain) && !('name' in value)) return domainIn(domain);
  for (const [member, what] of otherForms) if (member in value) throw wrongForm(what);
  const part = /:(role|group|policy|entity)\./.exec(String(value['name']))?.[1];
  if (part !== undefined) throw wrongForm(`a ${part} alone`);
  if (typeof value['name'] === 'string' && value['roles'] === undefined)
    throw wrongForm('the attributes of a domain, without its roles');
  return value;
}

function onlyDomain(domains: readonly unknown[]): unknown {
  const [first, ...others] = domains;
  if (others.length > 0) throw wrongForm(`an output of ${domains.length} domains`);
  if (!isValues(first)) throw wrongForm('a list of names');
  return domainIn('domain' in first ? first : { domain: first });
}

/** Throws `InvalidRequestError` for a plain output that is not nearly YAML: of `get-signed-domains`, or a message. */
export function refuseOtherPlain(text: string): void {
  if (/^\s*ETag: /.test(text)) throw wrongForm('the plain output of `zms-cli get-signed-domains`');
  if (/^\s*\[[a-z]/i.test(text)) throw wrongForm(`a message of zms-cli (${shortText(text.trim(), 80)})`);
}

function wrongForm(what: string): InvalidRequestError {
  return new InvalidRequestError(`the file is not an export of a domain but ${what}: ${exportAgain}`);
}

function isValues(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
