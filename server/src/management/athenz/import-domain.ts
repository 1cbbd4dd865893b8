import { foldAscii } from '@signet/policy-engine/names';
import { InvalidRequestError } from '../../errors.ts';
import type { DomainContent } from '../../model/records.ts';
import type { DocumentShape, GroupShape, RoleShape } from '../documents/document-schema.ts';
import { jsonSource } from '../documents/json-source.ts';
import { readDomainDocument } from '../documents/parse-document.ts';
import { maxProblems } from '../documents/places.ts';
import { parsePublicKey } from '../public-key.ts';
import { systemDomain } from '../rights.ts';
import { convertMembers } from './convert-members.ts';
import { convertPolicies } from './convert-policies.ts';
import { convertService } from './convert-service.ts';
import type { AthenzDomain, AthenzGroup, AthenzRole } from './export-shape.ts';
import { Findings, type Notice } from './findings.ts';
import { reportLeftOver } from './left-over.ts';
import { localName, mappingOf } from './local-name.ts';
import { type AthenzExport, type ExportSignature, readExport } from './read-export.ts';
import type { ZmsKeys } from './verify-export.ts';

interface ImportedDomain {
  readonly content: DomainContent;
  readonly notices: readonly Notice[];
  readonly signature: ExportSignature;
}

/**
 * Converts an Athenz domain. Parts that could change access are never left out but refused; a part with another meaning, or one that is not
 * converted, is a notice. Throws `InvalidRequestError`, which names each field that is wrong.
 */
export function importDomain(file: string, text: string, keys?: ZmsKeys): ImportedDomain {
  const read = readExport(file, text, keys);
  const { shape, notices } = convertDomain(read);
  const result = readDomainDocument(jsonSource(shape, file), parsePublicKey);
  if (result.kind === 'ok') return { content: result.document.content, notices, signature: read.signature };
  const problems = result.problems.slice(0, maxProblems);
  throw new InvalidRequestError(
    problems.map(({ field, message }) => `${field === '' ? 'the domain' : field}: ${message}`).join('; '),
  );
}

function convertDomain({ domain, isPlain }: AthenzExport): { shape: DocumentShape; notices: readonly Notice[] } {
  const findings = new Findings();
  const { name } = domain;
  if (foldAscii(name) === systemDomain) {
    throw new InvalidRequestError(
      `name: \`${systemDomain}\` contains the permissions of the server itself: write its document by hand`,
    );
  }
  if (isPlain) {
    findings.notice(
      'the plain output of zms-cli does not say everything (conditions, domains of roles, whether the domain is disabled): better use `zms-cli -o json`',
      name,
    );
  }
  reportLeftOver(findings, 'the domain', name, domain);
  if (domain.enabled === false) findings.notice('the domain is disabled and remains disabled', name);
  reportAdministrators(findings, domain);
  reportOthers(findings, domain);
  const roles = parts(findings, domain, 'roles', convertRole);
  const shape: DocumentShape = {
    domain: name,
    ...described(domain.description),
    ...(domain.enabled === false && { enabled: false }),
    ...(domain.auditEnabled === true && { requireReason: true }),
    limits: {
      ...seconds('tokenExpirySeconds', domain.tokenExpiryMins),
      ...seconds('serviceCertExpirySeconds', domain.serviceCertExpiryMins),
      ...seconds('roleCertExpirySeconds', domain.roleCertExpiryMins),
    },
    accounts: { ...(isSaid(domain.account) && { aws: domain.account }) },
    roles,
    groups: parts(findings, domain, 'groups', convertGroup),
    policies: convertPolicies(findings, name, Object.keys(roles), domain.policies?.contents.policies),
    services: parts(findings, domain, 'services', convertService),
  };
  if (findings.problems.length > 0) throw new InvalidRequestError(findings.problems.join('; '));
  return { shape, notices: findings.notices };
}

type Kind = 'roles' | 'groups' | 'services';
type PartOf<K extends Kind> = NonNullable<AthenzDomain[K]>[number];

/** Separators between the name of the domain and that of a part. */
const joints = { roles: ':role.', groups: ':group.', services: '.' } as const;

/** Parts of one kind by their short names. */
function parts<K extends Kind, Shape>(
  findings: Findings,
  domain: AthenzDomain,
  kind: K,
  convert: (findings: Findings, name: string, part: PartOf<K>) => Shape,
): Record<string, Shape> {
  const shapes = new Map<string, Shape>();
  for (const part of (domain[kind] ?? []) as readonly PartOf<K>[]) {
    const name = localName(findings, `${domain.name}${joints[kind]}`, part.name, kind);
    if (shapes.has(name)) findings.problem([kind, name], 'is there twice');
    reportLeftOver(findings, kind, name, part);
    shapes.set(name, convert(findings, name, part));
  }
  return mappingOf(findings, [kind], shapes);
}

function convertRole(findings: Findings, name: string, role: AthenzRole): RoleShape {
  const { trust, members } = role;
  if (isSaid(trust) && (role.roleMembers ?? []).length > 0) {
    findings.problem(['roles', name], 'has members and trusts a domain: Athenz uses only one of them, remove one');
  }
  if (!isSaid(trust) && !Array.isArray(role.roleMembers) && (members ?? []).length > 0) {
    findings.problem(['roles', name, 'members'], 'is deprecated and ignored by Athenz: use `roleMembers`');
  }
  if (role.reviewEnabled === true) {
    findings.notice(
      '`reviewEnabled` of roles becomes `approvals: 1`: `admin` needs two persons, and domains whose groups they list `approvals` too',
      name,
    );
  }
  if (role.selfServe === true) {
    findings.notice(
      '`selfServe` of roles is not imported: with `requestSeconds`, anyone may ask for a role for a limited time',
      name,
    );
  }
  return {
    ...described(role.description),
    ...seconds('tokenExpirySeconds', role.tokenExpiryMins),
    ...seconds('certExpirySeconds', role.certExpiryMins),
    ...(role.reviewEnabled === true && { approvals: 1 }),
    ...(isSaid(trust) ? { trust } : { members: convertMembers(findings, name, role.roleMembers) }),
  };
}

function convertGroup(findings: Findings, name: string, group: AthenzGroup): GroupShape {
  return { ...described(group.description), members: convertMembers(findings, name, group.groupMembers) };
}

/** Reports the administrators: in Athenz policies say what the role may; here it is the one that administers the domain. */
function reportAdministrators(findings: Findings, { name, roles }: AthenzDomain): void {
  const admin = (roles ?? []).find((role) => foldAscii(role.name).replace(`${foldAscii(name)}:role.`, '') === 'admin');
  for (const { memberName } of admin?.roleMembers ?? []) {
    findings.notice('members of the role `admin` administer the domain here, regardless of its policies', memberName);
  }
}

/** Domains that `signet plan` looks for. */
function reportOthers(findings: Findings, { name, roles }: AthenzDomain): void {
  const trusted = (roles ?? []).flatMap(({ trust }) => (isSaid(trust) ? [trust] : []));
  const members = (roles ?? []).flatMap(({ roleMembers }) => roleMembers ?? []);
  const ofGroups = members.flatMap(({ memberName }) => /^([^:]+):group\./.exec(memberName)?.[1] ?? []);
  for (const other of new Set([...trusted, ...ofGroups])) {
    if (other === name) continue;
    findings.notice('domains are trusted or have groups in roles: import them first, or into the same folder', other);
  }
}

function described(description: string | null | undefined): { description?: string } {
  return isSaid(description) ? { description } : {};
}

/** Minutes there, none meaning no limit. */
function seconds<Name extends string>(name: Name, minutes: number | null | undefined): { [name in Name]?: number } {
  if (minutes === undefined || minutes === null || minutes === 0) return {};
  return { [name]: minutes * 60 } as { [name in Name]?: number };
}

function isSaid(text: string | null | undefined): text is string {
  return text !== undefined && text !== null && text !== '';
}
