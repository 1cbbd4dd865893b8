import { shortText } from '../../base/short-text.ts';
import { InvalidRequestError } from '../../errors.ts';

/*
 * The plain output of `zms-cli show-domain` and `export-domain`: nearly YAML, with names of its own and a sentence for each assertion.
 * Values stand as they are, unquoted: `name: *` and `description: a: b` are lines of it.
 */

type Values = Readonly<Record<string, unknown>>;

/** True if a text has this form. */
export function isPlainOutput(text: string): boolean {
  return /^\s*domain:[ \t]*\r?\n/.test(text);
}

/** The same as YAML: every value in quotes that is not a collection. Lines stay where they are. */
export function quoteValues(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(/^([ \t]*(?:- )?[\w-]+: )([^\s"'[{|>].*)$/gm, quoted)
    .replace(/^([ \t]*- )((?:grant|deny|allow) .*)$/gim, quoted);
}

function quoted(_: string, start: string, value: string): string {
  return start + JSON.stringify(value.trimEnd());
}

const domainNames: Readonly<Record<string, string>> = { aws_account: 'account' };
const memberNames: Readonly<Record<string, string>> = { name: 'memberName', review: 'reviewReminder' };

/**
 * JSON equivalent of the plain output. `value` is its YAML; malformed parts stay for the schema to refuse. Throws `InvalidRequestError` for an
 * assertion that cannot be read.
 */
export function fromPlainOutput(value: unknown): unknown {
  const domain = isValues(value) ? value['domain'] : undefined;
  if (!isValues(domain)) return domain;
  const { roles, groups, policies, services, ...rest } = renamed(domain, domainNames);
  const { name } = domain;
  return {
    ...rest,
    roles: each(roles, (role) => membersOf(role, 'roleMembers')),
    groups: each(groups, (group) => membersOf(group, 'groupMembers')),
    policies: {
      contents: {
        policies: each(policies, (policy) => ({
          ...renamed(policy, {}),
          assertions: each(policy['assertions'], (assertion) => assertion, parseSentence(String(name))),
        })),
      },
    },
    services: each(services, (service) => ({
      ...renamed(service, {}),
      publicKeys: each(service['publicKeys'], ({ keyId, value: key, ...others }) => ({ id: keyId, key, ...others })),
    })),
  };
}

function membersOf({ members, ...rest }: Values, name: string): Values {
  return { ...renamed(rest, {}), [name]: each(members, (member) => renamed(member, memberNames)) };
}

/** Renames members to camel case, or as the table has them. */
function renamed(values: Values, names: Readonly<Record<string, string>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const own = Object.hasOwn(names, name) ? names[name] : undefined;
      return [own ?? name.replaceAll(/[_-]([a-z])/g, (_, letter: string) => letter.toUpperCase()), value];
    }),
  );
}

function each(list: unknown, convert: (item: Values) => unknown, other = (item: unknown) => item): unknown {
  if (!Array.isArray(list)) return list;
  return list.map((item: unknown) => (isValues(item) ? convert(item) : other(item)));
}

/**
 * `grant read to reader on movie`. Roles and resources are without their domain there, unless zms-cli is verbose. A resource with a colon may
 * be of this domain or of another, which only `assume_role` can name. Throws `InvalidRequestError` for such a one, and for what is not such a
 * sentence.
 */
function parseSentence(domain: string) {
  return (sentence: unknown): unknown => {
    const shown = `assertion \`${shortText(String(sentence))}\``;
    const parts = /^(grant|allow|deny) (\S+) to (\S+) on (\S+)$/i.exec(String(sentence));
    if (parts === null) throw new InvalidRequestError(`${shown}: must be \`grant ACTION to ROLE on RESOURCE\``);
    const [, effect = '', action = '', role = '', resource = ''] = parts;
    const isClear =
      !resource.includes(':') || resource.startsWith(`${domain}:`) || action.toLowerCase() === 'assume_role';
    if (!isClear) {
      throw new InvalidRequestError(
        `${shown}: the plain output does not include the domain of the resource: export it with \`zms-cli -o json\``,
      );
    }
    return {
      effect: effect.toLowerCase() === 'deny' ? 'DENY' : 'ALLOW',
      action,
      role: role.includes(':') ? role : `${domain}:role.${role}`,
      resource: resource.includes(':') ? resource : `${domain}:${resource}`,
    };
  };
}

function isValues(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
