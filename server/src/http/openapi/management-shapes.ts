import { conditionKeys, conditionOperators } from '@signet/policy-engine/policy';
import { z } from 'zod';
import {
  assertionSchema,
  groupSchema,
  limitsSchema,
  memberFieldsSchema,
  quotasSchema,
  roleSchema,
  serviceSchema,
} from '../../management/documents/document-schema.ts';
import { planDigestSchema } from '../../management/plan-file.ts';
import { schemasOf, viewSchemasOf } from '../../model/fields.ts';
import { recordFields } from '../../model/record-fields.ts';
import { names } from './names.ts';
import { documentProblem } from './operation.ts';

/* Shapes of the management API: for the most part those of documents, with the name of the object. */

const name = z.string();
const time = names.Timestamp;
/** Any text but `__proto__`. */
export const versionName = z.string().meta({ minLength: 1 });

export const domainShape = z.strictObject({
  name: names.DomainName,
  ...viewSchemasOf(recordFields.domain),
  limits: limitsSchema,
  accounts: z.strictObject(schemasOf(recordFields.accounts)),
});
export const quotasShape = z.strictObject({ inForce: quotasSchema.required(), own: quotasSchema });
export const accountShape = z.strictObject({ account: z.string() });
export const roleShape = roleSchema.extend({ name: names.EntityName });
export const groupShape = groupSchema.extend({ name: names.EntityName });
/** Item of a list with details; only the name of a role or group that the caller may not view. `more`: it has further members. */
export const detailsOf = (view: z.ZodObject): z.ZodObject => view.extend({ more: z.literal(true).optional() });
export const serviceShape = serviceSchema.extend({ name: names.ServiceName });
export const memberShape = memberFieldsSchema.extend({ name: names.MemberName });
export const keyShape = z.strictObject({
  id: names.KeyId,
  pem: z.string(),
  /** Registered by a principal that was no administrator of the domain. */
  delegated: z.literal(true).optional(),
});
/** An assertion with the id by which it is removed. */
export const shownAssertion = assertionSchema.extend({ id: z.int() });
export const policyShape = z.strictObject({
  name: names.EntityName,
  ...schemasOf(recordFields.policy),
  active: z.string().nullable(),
  versions: z.record(z.string(), z.array(shownAssertion)),
});

const change = {
  id: z.int(),
  at: time,
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  version: z.int().optional(),
  reason: z.string().optional(),
  requestId: z.string().optional(),
  certificateSerial: z.string().optional(),
};
/** A record of the audit log. */
export const changeShape = z.strictObject({ ...change, before: z.unknown().optional(), after: z.unknown().optional() });
/** The same, of one object: what it was and what it became. */
export const objectChangeShape = z.strictObject({
  ...change,
  before: z.array(z.unknown()).optional(),
  after: z.array(z.unknown()).optional(),
});

export const searchHitShape = z.strictObject({
  domain: names.DomainName,
  kind: z.enum(['role', 'group', 'assertion']),
  /** Name with its domain. */
  name,
  entry: z.string(),
  expires: time.optional(),
  disabled: z.literal(true).optional(),
});
const entryState = z.enum(['counts', 'expired', 'disabled']);
/** Path by which a principal has a role. */
export const rolePath = z.union([
  z.strictObject({ kind: z.literal('member'), entry: names.MemberName, state: entryState }),
  z.strictObject({ kind: z.literal('group'), group: names.MemberName, state: entryState }),
  z.strictObject({ kind: z.literal('assumed'), from: names.EntityName }),
  z.strictObject({ kind: z.literal('delegated'), domain: names.DomainName, from: names.EntityName }),
]);
/** Conditions in the form of bundles. */
const wireConditions = z.strictObject({
  conditionsList: z.array(
    z.strictObject({
      id: z.int().optional(),
      conditionsMap: z.record(z.string(), z.strictObject({ operator: z.string(), value: z.string() })),
    }),
  ),
});
/** An assertion about a role of a principal. */
export const accessEntryShape = z.strictObject({
  domain: names.DomainName,
  /** Policy name with its domain. */
  policy: name,
  id: z.int(),
  effect: z.enum(['ALLOW', 'DENY']),
  action: name,
  resource: name,
  conditions: wireConditions.optional(),
  denied: z.literal(true).optional(),
  through: z.array(z.strictObject({ role: names.EntityName, paths: z.array(rolePath) })),
});
export const reviewShape = z.strictObject({
  domain: names.DomainName,
  kind: z.enum(['role', 'group']),
  name: names.EntityName,
  member: names.MemberName,
  review: time,
  expires: time.optional(),
});
export const instanceShape = z.strictObject({
  service: names.ServiceName,
  provider: names.ProviderName,
  instanceId: names.PathElement,
  hostname: z.string().optional(),
  state: z.enum(['valid', 'ended', 'revoked']),
  serial: z.string(),
  registered: time,
  refreshed: time,
  notAfter: time,
});

const texts = z.strictObject({ matching: z.array(z.string()), except: z.array(z.string()) });
const contextKeys = z.enum(conditionKeys);
const term = z.strictObject({ operator: z.enum(conditionOperators), value: z.string() });
/** Values of a condition key: one, those that are none of some, or `null` where the host gives none. */
export const valueSet = z.union([
  z.strictObject({ is: z.string() }),
  z.strictObject({
    isNot: z.array(z.string()),
    matching: z.array(term).exactOptional(),
    except: z.array(term).exactOptional(),
    unreadableBy: z.array(z.enum(conditionOperators)).exactOptional(),
  }),
  z.null(),
]);
/** Result of a dry run: the changes, and the access that principals gain or lose. */
export const previewShape = z.strictObject({
  warnings: z.array(z.string()).optional(),
  changes: z.array(
    z.strictObject({
      change: z.enum(['create', 'change', 'delete']),
      kind: z.string(),
      domain: name,
      name,
      /** Changes of its fields, each in the form of documents. */
      fields: z
        .array(z.strictObject({ field: z.string(), before: z.string().optional(), after: z.string().optional() }))
        .optional(),
    }),
  ),
  /** Number of changes; present when there are more than are listed. */
  changesTotal: z.int().optional(),
  /** Totals of gains and losses, or lower bounds of them; present when the impact is too large to list. */
  impactTotals: z.strictObject({ gains: z.int(), losses: z.int(), isExact: z.boolean() }).optional(),
  impact: z
    .array(
      z.strictObject({
        change: z.enum(['gain', 'loss']),
        domain: name,
        principal: name,
        within: name.optional(),
        action: texts,
        resource: texts,
        contexts: z.array(z.partialRecord(contextKeys, valueSet)).optional(),
        example: z.strictObject({
          principal: name,
          action: name,
          resource: name,
          context: z.partialRecord(contextKeys, z.string()).optional(),
        }),
      }),
    )
    .nullable(),
});

const domainPlanned = {
  /** Epoch and counter of the state of the store. */
  change: z.array(z.int()).length(2),
  casesPassed: z.int(),
  warnings: z.array(documentProblem),
};
/** Effect of documents, and its digest. */
export const planShape = z.strictObject({
  digest: planDigestSchema,
  ...domainPlanned,
  /** Approvals that the changes need, by domain. */
  needs: z.record(z.string(), z.int()).optional(),
  changes: previewShape.shape.changes,
  changesTotal: previewShape.shape.changesTotal,
  impact: previewShape.shape.impact.unwrap().optional(),
  impactTotals: previewShape.shape.impactTotals,
  totals: z.strictObject({
    add: z.int(),
    change: z.int(),
    remove: z.int(),
    access: z.strictObject({ gain: z.int(), lose: z.int(), isExact: z.boolean() }).optional(),
  }),
  /** Reasons why the documents would not be applied. */
  refusals: z.array(documentProblem),
});
export const appliedShape = z.strictObject({
  ...domainPlanned,
  domains: z.array(
    z.strictObject({
      name: names.DomainName,
      outcome: z.enum(['created', 'changed', 'unchanged']),
      version: z.int(),
    }),
  ),
});
