import { PolicyEngineError } from '../errors.ts';

/*
 * The grammar of names (docs/reference/names.md#grammar):
 *   SimpleName    one segment: a letter, digit or `_`, then letters, digits, `_` and `-`
 *   CompoundName  SimpleNames joined by dots, one at least
 * The whole value must match. Names are case-insensitive: they are lower-cased (ASCII) after validation.
 */
const simpleName = /^[a-zA-Z0-9_][a-zA-Z0-9_-]*$/;
const compoundName = /^[a-zA-Z0-9_][a-zA-Z0-9_-]*(?:\.[a-zA-Z0-9_][a-zA-Z0-9_-]*)*$/;
/* Path element; `.` and `..` are excluded, as readers of an address may resolve them. */
const pathElement = /^(?!\.{1,2}$)[a-zA-Z0-9\-\\._~=+@$,:]+$/;

/** The longest name accepted, in characters (docs/reference/names.md#grammar). */
export const maxNameLength = 256;

declare const brand: unique symbol;
type Name<Kind extends string> = string & { readonly [brand]: Kind };

/** A domain, e.g. `catalog` or `media.video`; unique in the system. */
export type DomainName = Name<'DomainName'>;
/** The short name of a role in its domain, e.g. `reader`. */
export type RoleName = Name<'RoleName'>;
/** The short name of a group in its domain. */
export type GroupName = Name<'GroupName'>;
/** The short name of a policy in its domain. */
export type PolicyName = Name<'PolicyName'>;
/** The short name of a service in its domain (a SimpleName), e.g. `api`. */
export type ServiceName = Name<'ServiceName'>;
/** An action, e.g. `read`. */
export type ActionName = Name<'ActionName'>;
/** Acting principal: a service `domain.service`, a user `user.name`, or a group `domain:group.name` where that is stated. */
export type PrincipalName = Name<'PrincipalName'>;
/** The name of a key of a service; keeps its case. */
export type KeyId = Name<'KeyId'>;
/** A URI-safe path element such as an instance id; keeps its case. */
export type PathElement = Name<'PathElement'>;

const words = 'letters, digits, `_` and `-`, in words that do not begin with `-` and are joined by dots';

/** Description of each kind of name, for messages about malformed ones. */
const forms = {
  DomainName: words,
  RoleName: words,
  GroupName: words,
  PolicyName: words,
  ActionName: words,
  ServiceName: 'letters, digits, `_` and `-`, not beginning with `-`, and no dot',
  KeyId: 'letters, digits, `_`, `.` and `-`, beginning with a letter, a digit or `_`',
  PathElement: 'letters, digits and any of `- \\ . _ ~ = + @ $ , :`, but not `.` or `..` alone',
  PrincipalName: 'a service `domain.service`, a user `user.name` or a group `domain:group.name`',
} as const;

/** A value that is not a name of the kind asked for. The message says the field, the kind and what such a name consists of, never the value. */
export class InvalidNameError extends PolicyEngineError {
  override readonly name = 'InvalidNameError';
  readonly field: string;

  constructor(field: string, kind: keyof typeof forms) {
    super('invalid-name', `${field} is not a valid ${kind}: ${forms[kind]}, at most ${maxNameLength} characters`);
    this.field = field;
  }
}

function isNameText(value: unknown, grammar: RegExp): value is string {
  return typeof value === 'string' && value.length <= maxNameLength && grammar.test(value);
}

function parser<Kind extends keyof typeof forms>(kind: Kind, grammar: RegExp, fold: boolean) {
  /** `field` is how the caller calls the value in an error message. Throws `InvalidNameError`. */
  return (value: unknown, field: string = kind): Name<Kind> => {
    if (!isNameText(value, grammar)) throw new InvalidNameError(field, kind);
    return (fold ? value.toLowerCase() : value) as Name<Kind>;
  };
}

/** A domain name (a CompoundName), lower-cased. Throws `InvalidNameError`; its message calls the value `field`. */
export const parseDomainName: (value: unknown, field?: string) => DomainName = parser('DomainName', compoundName, true);
/** The short name of a role (a CompoundName), lower-cased. Throws `InvalidNameError`. */
export const parseRoleName: (value: unknown, field?: string) => RoleName = parser('RoleName', compoundName, true);
/** The short name of a group (a CompoundName), lower-cased. Throws `InvalidNameError`. */
export const parseGroupName: (value: unknown, field?: string) => GroupName = parser('GroupName', compoundName, true);
/** The short name of a policy (a CompoundName), lower-cased. Throws `InvalidNameError`. */
export const parsePolicyName: (value: unknown, field?: string) => PolicyName = parser('PolicyName', compoundName, true);
/** The short name of a service (a SimpleName: no dots), lower-cased. Throws `InvalidNameError`. */
export const parseServiceName: (value: unknown, field?: string) => ServiceName = parser(
  'ServiceName',
  simpleName,
  true,
);
/** An action (a CompoundName), lower-cased. Throws `InvalidNameError`. */
export const parseActionName: (value: unknown, field?: string) => ActionName = parser('ActionName', compoundName, true);
/** The name of a key: letters, digits, `_`, and inside also `.` and `-`; keeps its case. Throws `InvalidNameError`. */
export const parseKeyId: (value: unknown, field?: string) => KeyId = parser(
  'KeyId',
  /^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$/,
  false,
);
/** A path element such as an instance id; keeps its case. Throws `InvalidNameError`. */
export const parsePathElement: (value: unknown, field?: string) => PathElement = parser(
  'PathElement',
  pathElement,
  false,
);

/**
 * A principal as access checks take it (docs/reference/names.md#principals): `domain.service`, `user.name` or `domain:group.name`; a value with
 * no dot means `user.<value>`. Throws `InvalidNameError`.
 */
export function parsePrincipalName(value: unknown, field = 'principal'): PrincipalName {
  if (typeof value === 'string') {
    const colon = value.indexOf(':');
    if (colon < 0) {
      const full = value.includes('.') ? value : `user.${value}`;
      if (isNameText(full, compoundName)) return full.toLowerCase() as PrincipalName;
    } else if (value.length <= maxNameLength) {
      const [domain, local] = [value.slice(0, colon), value.slice(colon + 1)];
      if (compoundName.test(domain) && local.startsWith('group.') && compoundName.test(local.slice(6))) {
        return value.toLowerCase() as PrincipalName;
      }
    }
  }
  throw new InvalidNameError(field, 'PrincipalName');
}

/** The principal name of a service. */
export function servicePrincipal(domain: DomainName, service: ServiceName): PrincipalName {
  return `${domain}.${service}` as PrincipalName;
}

/**
 * Domain and service of a service principal, split at the last dot (docs/reference/authentication.md#who-a-certificate-names); `undefined`
 * for a group or a bare name.
 */
export function splitPrincipal(principal: PrincipalName): { domain: DomainName; service: ServiceName } | undefined {
  const dot = principal.lastIndexOf('.');
  if (dot <= 0 || principal.includes(':')) return undefined;
  return { domain: principal.slice(0, dot) as DomainName, service: principal.slice(dot + 1) as ServiceName };
}

/** `domain:role.name`, the full name of a role. */
export function fullRoleName(domain: DomainName, role: RoleName): string {
  return `${domain}:role.${role}`;
}

/** Lower-cases A to Z only: the folding of actions and resources (docs/reference/names.md#folding), the same on every machine. */
export function foldAscii(text: string): string {
  return /[A-Z]/.test(text) ? text.replace(/[A-Z]+/g, (capitals) => capitals.toLowerCase()) : text;
}
