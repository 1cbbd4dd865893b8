import { formatProblem, InvalidRequestError } from '../../errors.ts';
import { jsonSource } from '../documents/json-source.ts';
import { maxProblems } from '../documents/places.ts';
import { parseYaml } from '../documents/yaml-source.ts';
import { schemaProblems } from '../documents/zod-problems.ts';
import { domainIn, refuseOtherPlain } from './export-form.ts';
import { type AthenzDomain, athenzDomainShape, athenzJwsShape } from './export-shape.ts';
import { restoreMembers } from './member-names.ts';
import { fromPlainOutput, isPlainOutput, quoteValues } from './plain-output.ts';
import { decodeText, parseJson, verifyExport, type ZmsKeys } from './verify-export.ts';

/** Authenticity of an export. */
export type ExportSignature =
  | { readonly kind: 'none' }
  | { readonly kind: 'not-verified' }
  | { readonly kind: 'verified'; readonly keyId: string };

export interface AthenzExport {
  readonly domain: AthenzDomain;
  readonly signature: ExportSignature;
  /** True if it is the plain output of zms-cli, which is incomplete. */
  readonly isPlain: boolean;
}

/**
 * Reads what Athenz says of one domain: the JSON or YAML of `zms-cli`, its plain output, or the JWS of ZMS. With `keys` it must be a JWS
 * that one of them signed. Throws `InvalidRequestError`, which names each field that is wrong.
 */
export function readExport(file: string, text: string, keys?: ZmsKeys): AthenzExport {
  const { value, signature = { kind: 'none' }, isPlain = false } = readForm(file, text, keys);
  if (keys !== undefined && signature.kind !== 'verified') {
    throw new InvalidRequestError('the file is not signed: only the JWS of ZMS can be verified with a key file');
  }
  const domain = athenzDomainShape.safeParse(value);
  if (domain.success) return { domain: domain.data, signature, isPlain };
  const problems = schemaProblems(jsonSource(value, file), domain.error.issues).slice(0, maxProblems);
  throw new InvalidRequestError(
    problems.map(({ field, message }) => `${field === '' ? 'the file' : field}: ${message}`).join('; '),
  );
}

interface Form {
  readonly value: unknown;
  readonly signature?: ExportSignature;
  readonly isPlain?: boolean;
}

function readForm(file: string, text: string, keys: ZmsKeys | undefined): Form {
  if (!text.trimStart().startsWith('{')) return fromYaml(file, text);
  const value = parseJson(text, 'the file');
  const jws = athenzJwsShape.safeParse(value);
  if (!jws.success) return { value: domainIn(restoreMembers(value, false)) };
  const signature: ExportSignature =
    keys === undefined ? { kind: 'not-verified' } : { kind: 'verified', keyId: verifyExport(jws.data, keys) };
  const payload = parseJson(decodeText(jws.data.payload, 'payload'), 'payload');
  return { value: domainIn(restoreMembers(payload, false)), signature };
}

function fromYaml(file: string, text: string): Form {
  const isPlain = isPlainOutput(text);
  if (!isPlain) refuseOtherPlain(text);
  const yaml = parseYaml(file, isPlain ? quoteValues(text) : text);
  if (yaml.kind === 'bad') throw new InvalidRequestError(yaml.problems.map(formatProblem).join('; '));
  const { value } = yaml.source;
  return { value: domainIn(isPlain ? fromPlainOutput(value) : restoreMembers(value, true)), isPlain };
}
