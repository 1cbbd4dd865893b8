import {
  type ActionName,
  type DomainName,
  foldAscii,
  type PrincipalName,
  parseActionName,
  parseDomainName,
  parsePrincipalName,
  parseRoleName,
  type RoleName,
} from '@signet/policy-engine/names';
import {
  type ConditionKey,
  conditionKeys,
  type DecisionContext,
  type Status,
  statuses,
} from '@signet/policy-engine/policy';
import { z } from 'zod';
import type { DocumentProblem } from '../../errors.ts';
import { parseTime } from '../../model/field-kinds.ts';
import { definedOnly } from './defined-only.ts';
import { FieldReader } from './field-reader.ts';
import { strict } from './strict.ts';
import { type FieldPath, parseYaml, type YamlSource } from './yaml-source.ts';
import { schemaProblems, unknownKeyMessage } from './zod-problems.ts';

/** Subject of a case: a principal with the roles that it holds, or roles as a token would carry them. */
type CaseSubject =
  | { readonly kind: 'principal'; readonly principal: PrincipalName }
  | { readonly kind: 'roles'; readonly roles: readonly RoleName[] };

/** Query and the answer that its author expects. */
export interface PolicyCase {
  readonly note?: string;
  readonly subject: CaseSubject;
  readonly domain: DomainName;
  readonly action: ActionName;
  /** `domain:entity`. */
  readonly resource: string;
  /** Values of the host for assertions with conditions; absent: none, as in the server's own checks. */
  readonly context?: DecisionContext;
  readonly expect: 'allow' | 'deny' | Status;
  /** Milliseconds since the epoch; absent: when the case is run. */
  readonly at?: number;
  /** Unknown on purpose: a principal or role of the case is meant not to exist. */
  readonly unknown: boolean;
  /** Place in the file, from 0. */
  readonly index: number;
}

export interface CaseFile {
  readonly source: YamlSource;
  readonly cases: readonly PolicyCase[];
}

export type CaseFileResult =
  | { readonly kind: 'ok'; readonly cases: CaseFile }
  | { readonly kind: 'bad'; readonly problems: readonly DocumentProblem[] };

const given = z.string().optional();
const contextSchema = strict(
  Object.fromEntries(conditionKeys.map((key) => [key, given])) as Record<ConditionKey, typeof given>,
);

const caseShape = {
  note: z.string().optional(),
  principal: z.string().optional(),
  roles: z.array(z.string()).optional(),
  domain: z.string().optional(),
  action: z.string(),
  resource: z.string().min(1, 'must not be empty'),
  expect: z.enum(['allow', 'deny', ...statuses]),
  at: z.string().optional(),
  context: contextSchema.optional(),
  unknown: z.boolean().optional(),
};
export const caseFileSchema = z.array(z.strictObject(caseShape, { error: unknownKeyMessage(caseShape) }));
type CaseShape = z.output<typeof caseFileSchema>[number];

/** Reads `<domain>.cases.yaml`: a list. A case that names no domain is about that of the file's name. */
export function parseCaseFile(file: string, text: string): CaseFileResult {
  const yaml = parseYaml(file, text);
  if (yaml.kind === 'bad') return yaml;
  const { source } = yaml;
  const shape = caseFileSchema.safeParse(source.value ?? []);
  if (!shape.success) return { kind: 'bad', problems: schemaProblems(source, shape.error.issues) };
  const reader = new FieldReader(source);
  const fileDomain = file.replace(/^.*[/\\]/, '').replace(/\.cases\.ya?ml$/, '');
  const cases = shape.data.flatMap((item, index) => readCase(reader, item, index, fileDomain) ?? []);
  if (reader.problems.length > 0) return { kind: 'bad', problems: reader.problems };
  return { kind: 'ok', cases: { source, cases } };
}

function readCase(reader: FieldReader, shape: CaseShape, index: number, fileDomain: string): PolicyCase | undefined {
  const path: FieldPath = [index];
  const domain = reader.read([...path, 'domain'], () => parseDomainName(shape.domain ?? fileDomain));
  const action = reader.read([...path, 'action'], () => parseActionName(shape.action));
  const time = shape.at;
  const at = time === undefined ? undefined : reader.read([...path, 'at'], () => parseTime(time));
  const subject = readSubject(reader, shape, path);
  if (domain === undefined || action === undefined || subject === undefined) return undefined;
  const resource = foldAscii(shape.resource);
  return {
    ...(shape.note !== undefined && { note: shape.note }),
    subject,
    domain,
    action,
    resource: resource.includes(':') ? resource : `${domain}:${resource}`,
    ...(shape.context !== undefined && { context: definedOnly(shape.context) }),
    expect: shape.expect,
    ...(at !== undefined && { at }),
    unknown: shape.unknown === true,
    index,
  };
}

function readSubject(reader: FieldReader, { principal, roles }: CaseShape, path: FieldPath): CaseSubject | undefined {
  if ((principal === undefined) === (roles === undefined)) {
    reader.complain(path, 'needs either `principal` or `roles`');
    return undefined;
  }
  if (principal !== undefined) {
    const name = reader.read([...path, 'principal'], () => parsePrincipalName(principal));
    return name === undefined ? undefined : { kind: 'principal', principal: name };
  }
  const names = (roles ?? []).flatMap(
    (role, at) => reader.read([...path, 'roles', at], () => parseRoleName(role)) ?? [],
  );
  return { kind: 'roles', roles: names };
}
