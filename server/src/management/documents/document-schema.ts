import { z } from 'zod';
import { textSchema } from '../../model/field-kinds.ts';
import { schemasOf } from '../../model/fields.ts';
import { plainLine } from '../../model/plain-text.ts';
import { recordFields } from '../../model/record-fields.ts';
import type { DomainPart, QuotaKind } from '../../model/records.ts';
import { arePlainConditions, conditionsSchema } from './conditions.ts';
import { list, mapping, strict } from './strict.ts';

/* The shape of `policies/<domain>.yaml`. Names and references are looked at afterwards, with the whole document at hand. */

const isText = (value: unknown, max: number): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= max && plainLine.test(value);

export const memberFieldsSchema = strict(schemasOf(recordFields.member));

export const memberSchema = z.union([z.string(), strict({ name: z.string(), ...schemasOf(recordFields.member) })]);

/** A name alone may be any text: it is parsed later. */
const membersSchema = list(z.array(memberSchema), (value) => typeof value === 'string');

export const roleSchema = strict({ ...schemasOf(recordFields.role), members: membersSchema.optional() });

export const groupSchema = strict({ ...schemasOf(recordFields.group), members: membersSchema.optional() });

/** Characters of the strings of an assertion. */
const maxTexts = { action: 256, resource: 1024, role: 512 };
const withoutBlanks = /^\S*$/;

export const assertionSchema = strict({
  effect: z
    .string()
    .transform((value) => value.toUpperCase())
    .pipe(z.enum(['ALLOW', 'DENY']))
    .optional(),
  action: textSchema(maxTexts.action),
  resource: textSchema(maxTexts.resource).regex(withoutBlanks, 'must not hold blanks'),
  role: textSchema(maxTexts.role),
  /** Conditions under which the assertion applies; absent: always. */
  conditions: conditionsSchema.optional(),
  /** True if bundles carry action and resource in the case given; decisions ignore case. */
  caseSensitive: z.boolean().optional(),
});

/** Fast path of most assertions. A plain one satisfies its schema too and is kept as it is, for a tenth of the cost. */
export function isPlainAssertion(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { action, resource, role, effect = 'ALLOW', conditions, ...others }: Partial<Record<string, unknown>> = value;
  for (const _ in others) return false;
  return (
    isText(action, maxTexts.action) &&
    isText(resource, maxTexts.resource) &&
    withoutBlanks.test(resource) &&
    isText(role, maxTexts.role) &&
    (effect === 'ALLOW' || effect === 'DENY') &&
    (conditions === undefined || arePlainConditions(conditions))
  );
}

/** The rules of one version of a policy. */
export const assertionsSchema = list(z.array(assertionSchema), isPlainAssertion);

export const policySchema = z.union([
  assertionsSchema,
  strict({
    ...schemasOf(recordFields.policy),
    active: z.string().nullable(),
    versions: mapping(assertionsSchema),
  }),
]);

export const serviceSchema = strict({
  ...schemasOf(recordFields.service),
  hosts: list(z.array(textSchema(253))).optional(),
  publicKeys: mapping(z.string()).optional(),
});

export const limitsSchema = strict(schemasOf(recordFields.limits));

const quota = z
  .int('must be an integer')
  .min(0, 'must be at least 0')
  .max(10_000_000, 'must be at most 10,000,000')
  .optional();

/** Maximum of each kind in a domain, where it differs from the server's. */
export const quotasSchema = strict({
  roles: quota,
  members: quota,
  groups: quota,
  policies: quota,
  assertions: quota,
  services: quota,
  keys: quota,
} satisfies Record<QuotaKind, typeof quota>);

const accountsSchema = strict(schemasOf(recordFields.accounts));

/** Attributes of a domain, beside its parts. */
export const domainFieldsSchema = strict(schemasOf(recordFields.domain));

const parts = {
  limits: limitsSchema.optional(),
  quotas: quotasSchema.optional(),
  accounts: accountsSchema.optional(),
  roles: mapping(roleSchema).optional(),
  groups: mapping(groupSchema).optional(),
  policies: mapping(policySchema).optional(),
  services: mapping(serviceSchema).optional(),
} satisfies Record<DomainPart, z.ZodType>;

export const documentSchema = strict({ domain: z.string(), ...schemasOf(recordFields.domain), ...parts }).extend({
  /** Former spelling of `accounts` in documents of 0.1. */
  account: accountsSchema.optional(),
});

export type DocumentShape = z.output<typeof documentSchema>;
export type MemberShape = z.output<typeof memberSchema>;
export type RoleShape = z.output<typeof roleSchema>;
export type GroupShape = z.output<typeof groupSchema>;
export type AssertionShape = z.output<typeof assertionSchema>;
export type PolicyShape = z.output<typeof policySchema>;
export type ServiceShape = z.output<typeof serviceSchema>;
