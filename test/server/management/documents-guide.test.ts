import { readFileSync } from 'node:fs';
import { checkDocuments } from '@signet/server/management/check-documents';
import { type CaseFileResult, parseCaseFile } from '@signet/server/management/documents/case-file';
import {
  assertionSchema,
  documentSchema,
  groupSchema,
  limitsSchema,
  memberFieldsSchema,
  quotasSchema,
  roleSchema,
  serviceSchema,
} from '@signet/server/management/documents/document-schema';
import { type DocumentResult, parseDomainDocument } from '@signet/server/management/documents/parse-document';
import { parsePublicKey } from '@signet/server/management/public-key';
import { runCases } from '@signet/server/management/run-cases';
import { noStore } from '@signet/server/management/stored-world';
import test from 'ava';

const guide = readFileSync(new URL('../../../docs/guides/documents.md', import.meta.url), 'utf8');
const [document = '', rules = '', cases = ''] = [...guide.matchAll(/^```yaml\n(.*?)^```$/gms)].map(
  ([, text = '']) => text,
);
const now = 1_767_225_600_000;

function good<Result extends DocumentResult | CaseFileResult>(result: Result): Extract<Result, { kind: 'ok' }> {
  if (result.kind === 'ok') return result as Extract<Result, { kind: 'ok' }>;
  throw new Error(JSON.stringify(result));
}

test('the document of the guide is one, and decides as the cases of the guide say', (t) => {
  const { document: films } = good(parseDomainDocument('films.yaml', document, parsePublicKey));
  const { document: media } = good(
    parseDomainDocument('media.yaml', 'domain: media\nservices: { player: {}, studio: {} }\n', parsePublicKey),
  );
  const { cases: file } = good(parseCaseFile('films.cases.yaml', cases));
  const { snapshot, warnings } = checkDocuments([films, media], noStore, now);
  t.deepEqual([warnings, runCases(snapshot, [file], now).failures], [[], []]);
});

test('the assertions under conditions of the guide are those of a document', (t) => {
  const text = `domain: films\nroles: { viewer: {} }\npolicies:\n  stages:\n${rules.replace(/^/gm, '    ')}`;
  const { document: films } = good(parseDomainDocument('films.yaml', text, parsePublicKey));
  t.is(films.content.policies[0]?.assertions[0]?.conditions?.conditionsList.length, 3);
});

test('the guide names every field that a document may have', (t) => {
  const schemas = [
    documentSchema,
    limitsSchema,
    quotasSchema,
    roleSchema,
    memberFieldsSchema,
    groupSchema,
    assertionSchema,
    serviceSchema,
  ];
  const former = ['account'];
  const fields = schemas.flatMap((schema) => Object.keys(schema.shape)).filter((field) => !former.includes(field));
  t.deepEqual(
    fields.filter(
      (field) => !new RegExp(`\\b${field}: `).test(document) && !new RegExp(`\\b${field}:$`, 'm').test(document),
    ),
    [],
  );
});
