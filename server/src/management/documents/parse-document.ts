import {
  type DomainName,
  parseDomainName,
  parseGroupName,
  parseKeyId,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import { type DocumentProblem, InvalidRequestError } from '../../errors.ts';
import type { DomainContent, GroupRecord, RoleRecord, ServiceKeyRecord, ServiceRecord } from '../../model/records.ts';
import {
  type DocumentShape,
  documentSchema,
  type GroupShape,
  type RoleShape,
  type ServiceShape,
} from './document-schema.ts';
import { type Entry, FieldReader } from './field-reader.ts';
import { readMembers } from './members.ts';
import { readPolicies } from './read-policies.ts';
import { type FieldPath, parseYaml, type YamlSource } from './yaml-source.ts';
import { schemaProblems } from './zod-problems.ts';

/** One document that is right in itself. */
export interface DomainDocument {
  readonly source: YamlSource;
  readonly content: DomainContent;
  /** Services about whose keys the document says nothing: those registered otherwise stay. */
  readonly keepsKeys: ReadonlySet<string>;
}

export type DocumentResult =
  | { readonly kind: 'ok'; readonly document: DomainDocument }
  | { readonly kind: 'bad'; readonly problems: readonly DocumentProblem[] };

/** Reads the text of `<domain>.yaml`. Everything that is wrong with it is found at once, as far as that is possible. */
export function parseDomainDocument(file: string, text: string, parseKey: ParseKey): DocumentResult {
  const yaml = parseYaml(file, text);
  if (yaml.kind === 'bad') return yaml;
  const { source } = yaml;
  const shape = documentSchema.safeParse(source.value);
  if (!shape.success) return { kind: 'bad', problems: schemaProblems(source, shape.error.issues) };
  const reader = new FieldReader(source);
  const document = readDocument(reader, shape.data, parseKey);
  if (document === undefined || reader.problems.length > 0) return { kind: 'bad', problems: reader.problems };
  return { kind: 'ok', document };
}

function readDocument(reader: FieldReader, shape: DocumentShape, parseKey: ParseKey): DomainDocument | undefined {
  const name = reader.read(['domain'], () => parseDomainName(shape.domain));
  if (name === undefined) return undefined;
  const roles = readRoles(reader, name, shape.roles);
  const roleNames = roles.map((role) => role.name);
  const services = reader.entries(['services'], shape.services, parseServiceName);
  return {
    source: reader.source,
    keepsKeys: new Set(services.filter(({ value }) => value.publicKeys === undefined).map((service) => service.name)),
    content: {
      name,
      enabled: shape.enabled ?? true,
      ...(shape.requireReason === true ? { requireReason: true } : {}),
      ...(shape.description === undefined ? {} : { description: shape.description }),
      limits: definedOnly(shape.limits ?? {}),
      ...(isEmpty(shape.quotas) ? {} : { quotas: definedOnly(shape.quotas ?? {}) }),
      ...(shape.account === undefined ? {} : { awsAccount: shape.account.aws }),
      roles,
      groups: readGroups(reader, shape.groups),
      policies: readPolicies(reader, name, roleNames, shape.policies),
      services: services.map((entry) => readService(reader, name, entry, parseKey)),
    },
  };
}

function isEmpty(values: object | undefined): boolean {
  return Object.keys(values ?? {}).length === 0;
}

function readRoles(reader: FieldReader, domain: DomainName, roles: DocumentShape['roles']): RoleRecord[] {
  return reader.entries(['roles'], roles, parseRoleName).map((entry) => readRole(reader, domain, entry));
}

/** One role of the domain. */
export function readRole(
  reader: FieldReader,
  domain: DomainName,
  { name, value: shape, path }: Entry<RoleRecord['name'], RoleShape>,
): RoleRecord {
  const trust = readTrust(reader, domain, shape, path);
  return {
    name,
    ...(shape.description === undefined ? {} : { description: shape.description }),
    ...(trust === undefined ? {} : { trust }),
    ...definedOnly({ tokenExpirySeconds: shape.tokenExpirySeconds, certExpirySeconds: shape.certExpirySeconds }),
    // With `trust` there may be none, however many were given.
    members: shape.trust === undefined ? readMembers(reader, [...path, 'members'], shape.members, 'role') : [],
  };
}

function readTrust(reader: FieldReader, domain: DomainName, role: RoleShape, path: FieldPath): DomainName | undefined {
  const text = role.trust;
  if (text === undefined) return undefined;
  const at = [...path, 'trust'];
  const trust = reader.read(at, () => parseDomainName(text));
  if (trust === domain) reader.complain(at, 'a role cannot trust its own domain');
  if (role.members !== undefined) reader.complain(at, 'a role that trusts another domain has no members of its own');
  return trust;
}

function readGroups(reader: FieldReader, groups: DocumentShape['groups']): GroupRecord[] {
  return reader.entries(['groups'], groups, parseGroupName).map((entry) => readGroup(reader, entry));
}

/** One group. */
export function readGroup(
  reader: FieldReader,
  { name, value: shape, path }: Entry<GroupRecord['name'], GroupShape>,
): GroupRecord {
  return {
    name,
    ...(shape.description === undefined ? {} : { description: shape.description }),
    members: readMembers(reader, [...path, 'members'], shape.members, 'group'),
  };
}

const maxCommonNameLength = 64;

/** Reads a public key in PEM, and answers it as SPKI PEM. Throws `InvalidRequestError`. Given from outside: it takes a cryptographic library. */
export type ParseKey = (pem: string) => string;

/** One service of the domain. */
export function readService(
  reader: FieldReader,
  domain: DomainName,
  { name, value: shape, path }: Entry<ServiceRecord['name'], ServiceShape>,
  parseKey: ParseKey,
): ServiceRecord {
  if (`${domain}.${name}`.length > maxCommonNameLength) {
    reader.complain(path, `\`${domain}.${name}\` has more than the 64 characters that a certificate can name`, 'key');
  }
  const endpoint = shape.endpoint;
  const providerEndpoint =
    endpoint === undefined ? undefined : reader.read([...path, 'endpoint'], () => httpsUrl(endpoint));
  return {
    name,
    ...(shape.description === undefined ? {} : { description: shape.description }),
    enabled: shape.enabled ?? true,
    ...(providerEndpoint === undefined ? {} : { providerEndpoint }),
    hosts: shape.hosts ?? [],
    publicKeys: readKeys(reader, shape, [...path, 'publicKeys'], parseKey),
  };
}

function readKeys(reader: FieldReader, shape: ServiceShape, path: FieldPath, parseKey: ParseKey): ServiceKeyRecord[] {
  return Object.entries(shape.publicKeys ?? {})
    .flatMap(([key, text]) => {
      const at = [...path, key];
      const id = reader.read(at, () => parseKeyId(key), 'key');
      const pem = reader.read(at, () => parseKey(text));
      return id === undefined || pem === undefined ? [] : [{ id, pem }];
    })
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}

const maxUrlLength = 1024;

function httpsUrl(text: string): string {
  const url = text.length <= maxUrlLength ? URL.parse(text) : null;
  if (url?.protocol !== 'https:' || url.username !== '' || url.password !== '' || url.hash !== '') {
    throw new InvalidRequestError('must be an `https:` address without user name and fragment');
  }
  return text;
}

type Defined<Values> = { readonly [Key in keyof Values]?: Exclude<Values[Key], undefined> };

/** Without the members that are there but undefined. */
export function definedOnly<Values extends object>(values: Values): Defined<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<Values>;
}
