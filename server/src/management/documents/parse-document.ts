import {
  type DomainName,
  parseDomainName,
  parseGroupName,
  parseKeyId,
  parseRoleName,
  parseServiceName,
} from '@signet/policy-engine/names';
import type { DocumentProblem } from '../../errors.ts';
import { recordFields } from '../../model/record-fields.ts';
import type { DomainContent, GroupRecord, RoleRecord, ServiceKeyRecord, ServiceRecord } from '../../model/records.ts';
import { definedOnly } from './defined-only.ts';
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

/** Document that is valid in itself. */
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
  return yaml.kind === 'bad' ? yaml : readDomainDocument(yaml.source, parseKey);
}

/** The same for what was read already. */
export function readDomainDocument(source: YamlSource, parseKey: ParseKey): DocumentResult {
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
  const roles = reader.entries(['roles'], shape.roles, parseRoleName).map((entry) => readRole(reader, name, entry));
  const roleNames = roles.map((role) => role.name);
  const services = reader.entries(['services'], shape.services, parseServiceName);
  const accounts = shape.account === undefined ? 'accounts' : 'account';
  if (shape.account !== undefined && shape.accounts !== undefined) {
    reader.complain(['account'], 'is the former name of `accounts`: give one of them', 'key');
  }
  return {
    source: reader.source,
    keepsKeys: new Set(services.filter(({ value }) => value.publicKeys === undefined).map((service) => service.name)),
    content: {
      name,
      ...reader.fields([], recordFields.domain, shape),
      limits: reader.fields(['limits'], recordFields.limits, shape.limits ?? {}),
      ...readQuotas(shape.quotas),
      accounts: reader.fields([accounts], recordFields.accounts, shape[accounts] ?? {}),
      roles,
      groups: reader.entries(['groups'], shape.groups, parseGroupName).map((entry) => readGroup(reader, entry)),
      policies: readPolicies(reader, name, roleNames, shape.policies),
      services: services.map((entry) => readService(reader, name, entry, parseKey)),
    },
  };
}

/** Quotas of a document or body; none where it gives none. */
export function readQuotas(shape: DocumentShape['quotas'] = {}): Pick<DomainContent, 'quotas'> {
  return Object.keys(shape).length === 0 ? {} : { quotas: definedOnly(shape) };
}

export function readRole(
  reader: FieldReader,
  domain: DomainName,
  { name, value: shape, path }: Entry<RoleRecord['name'], RoleShape>,
): RoleRecord {
  const fields = reader.fields(path, recordFields.role, shape);
  if (shape.trust === undefined) {
    return { name, ...fields, members: readMembers(reader, [...path, 'members'], shape.members, 'role') };
  }
  const at = [...path, 'trust'];
  if (fields.trust === domain) reader.complain(at, 'a role cannot trust its own domain');
  if (shape.members !== undefined) reader.complain(at, 'a role that trusts another domain has no members of its own');
  return { name, ...fields, members: [] };
}

export function readGroup(
  reader: FieldReader,
  { name, value: shape, path }: Entry<GroupRecord['name'], GroupShape>,
): GroupRecord {
  return {
    name,
    ...reader.fields(path, recordFields.group, shape),
    members: readMembers(reader, [...path, 'members'], shape.members, 'group'),
  };
}

const maxCommonNameLength = 64;

/** Reads a public key in PEM, and answers it as SPKI PEM. Throws `InvalidRequestError`. Given from outside: it takes a cryptographic library. */
type ParseKey = (pem: string) => string;

export function readService(
  reader: FieldReader,
  domain: DomainName,
  { name, value: shape, path }: Entry<ServiceRecord['name'], ServiceShape>,
  parseKey: ParseKey,
): ServiceRecord {
  if (`${domain}.${name}`.length > maxCommonNameLength) {
    reader.complain(path, `\`${domain}.${name}\` has more than the 64 characters that a certificate can name`, 'key');
  }
  return {
    name,
    ...reader.fields(path, recordFields.service, shape),
    hosts: shape.hosts ?? [],
    publicKeys: readKeys(reader, shape, [...path, 'publicKeys'], parseKey),
  };
}

function readKeys(reader: FieldReader, shape: ServiceShape, path: FieldPath, parseKey: ParseKey): ServiceKeyRecord[] {
  const ids = new Map<string, string>();
  return Object.entries(shape.publicKeys ?? {})
    .flatMap(([key, text]) => {
      const at = [...path, key];
      const id = reader.read(at, () => parseKeyId(key), 'key');
      const pem = reader.read(at, () => parseKey(text));
      const same = ids.get(key.toLowerCase());
      if (same !== undefined) reader.complain(at, `differs only in case from \`${same}\``, 'key');
      ids.set(key.toLowerCase(), key);
      return id === undefined || pem === undefined ? [] : [{ id, pem }];
    })
    .sort((a, b) => (a.id < b.id ? -1 : 1));
}
