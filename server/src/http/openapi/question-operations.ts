import { conditionKeys, maxResourceLength, statuses } from '@signet/policy-engine/policy';
import { z } from 'zod';
import { revocationSchema } from '../../management/certificates.ts';
import { revocationReasons, x509Kinds } from '../../model/certificate-store.ts';
import { rolePath } from './management-shapes.ts';
import { names } from './names.ts';
import { type Operation, type Parameter, pageOf } from './operation.ts';

const assertion = z.strictObject({
  id: z.int().optional(),
  effect: z.enum(['ALLOW', 'DENY']),
  role: z.string(),
  action: z.string(),
  resource: z.string(),
  conditions: z.unknown().optional(),
});
const explainedRole = z.strictObject({ role: names.EntityName, held: z.boolean(), paths: z.array(rolePath) });
/** Why a principal may do something or not, as `signet access explain --json` prints it. */
const explanationShape = z.strictObject({
  granted: z.boolean(),
  status: z.enum(statuses),
  principal: names.EntityName,
  switchedOff: z.boolean(),
  roles: z.array(explainedRole),
  /** Number of lists that the caller may not look at and that the decision may depend on; they were left out. */
  hidden: z.int().optional(),
  decidedBy: z.strictObject({ policy: z.string(), assertion, heldRole: z.string() }).optional(),
  nearMisses: z.array(
    z.strictObject({
      policy: z.string(),
      assertion,
      misses: z.array(z.enum(['role', 'action', 'resource', 'condition', 'effect'])),
    }),
  ),
  changes: z.array(
    z.union([
      z.strictObject({ kind: z.literal('grant-role'), domain: z.string(), role: z.string() }),
      z.strictObject({ kind: z.literal('add-assertion'), domain: z.string(), assertion }),
      z.strictObject({ kind: z.literal('remove-assertion'), policy: z.string(), assertion }),
    ]),
  ),
});
/** A name, `via <list>` for members whom the caller may not know, or a wildcard. */
const granteeShape = z.strictObject({ principal: z.string(), through: z.array(explainedRole) });

const certificateShape = z.strictObject({
  serial: z.string(),
  kind: z.enum(x509Kinds),
  subject: z.string(),
  holder: names.EntityName,
  provider: names.ProviderName.optional(),
  instanceId: names.PathElement.optional(),
  vouchedKey: names.KeyId.optional(),
  notBefore: names.Timestamp,
  notAfter: names.Timestamp,
  state: z.enum(['intended', 'valid', 'expired', 'revoked']),
  revoked: z.strictObject({ at: names.Timestamp, reason: z.enum(revocationReasons) }).optional(),
});

const question: Readonly<Record<string, Parameter>> = {
  action: { says: 'action', schema: names.ActionName, required: true },
  resource: { says: '`domain:entity`', schema: z.string().meta({ maxLength: maxResourceLength }), required: true },
  ...Object.fromEntries(
    conditionKeys.map((key) => [
      `context.${key}`,
      { says: `value of the condition key \`${key}\``, schema: z.string() },
    ]),
  ),
};

const tagged = { ETag: 'always' } as const;

/** Operations about why and who, and about certificates that were issued. */
export function questions(base: string, tag: string): readonly Operation[] {
  const certificates = `${base}/certificates`;
  const certificate = { 200: { says: 'the certificate', schema: certificateShape, headers: tagged } };
  const inPath = { serial: z.string().meta({ maxLength: 80, examples: ['40:1f:c3'] }) };
  return [
    {
      id: 'ExplainAccess',
      method: 'get',
      path: `${base}/explanation`,
      tag,
      summary: 'Explains why a principal may do an action on a resource, or why not',
      query: { ...question, principal: { says: 'principal (default: the caller)', schema: names.EntityName } },
      form: 'view',
      answers: { 200: { says: 'the explanation', schema: explanationShape, headers: tagged } },
      failures: [403, 404],
    },
    {
      id: 'ListGrantees',
      method: 'get',
      path: `${base}/grantees`,
      tag,
      summary: 'Lists the principals that may do an action on a resource',
      query: question,
      form: 'list',
      answers: { 200: { says: 'a page of the list', schema: pageOf(granteeShape), headers: tagged } },
      failures: [403, 404],
    },
    {
      id: 'ListCertificates',
      method: 'get',
      path: certificates,
      tag,
      summary: 'Lists the certificates of a principal, those that end last first',
      query: {
        holder: { says: 'holder of the certificates', schema: names.EntityName, required: true },
        state: {
          says: '`valid`, or `all`: also expired and revoked ones',
          schema: z.enum(['valid', 'all']).meta({ default: 'valid' }),
        },
      },
      form: 'list',
      answers: { 200: { says: 'a page of the list', schema: pageOf(certificateShape), headers: tagged } },
      failures: [403, 404, 503],
    },
    {
      id: 'GetCertificate',
      method: 'get',
      path: `${certificates}/{serial}`,
      tag,
      summary: 'Returns the record of a certificate',
      inPath,
      form: 'view',
      answers: certificate,
      failures: [403, 404, 503],
    },
    {
      id: 'RevokeCertificate',
      method: 'put',
      path: `${certificates}/{serial}/revocation`,
      tag,
      summary: 'Revokes a certificate',
      inPath,
      body: revocationSchema,
      answers: certificate,
      failures: [403, 404, 415, 503],
    },
  ];
}
