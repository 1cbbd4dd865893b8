import { z } from 'zod';
import type { QuotaKind } from '../../model/records.ts';
import { notPlain, plainLine, plainLines } from '../plain-text.ts';
import { arePlainConditions, conditionsSchema } from './conditions.ts';
import { list, mapping, strict } from './strict.ts';

/* The shape of `policies/<domain>.yaml`. Names and references are looked at afterwards, with the whole document at hand. */

const description = z.string().max(1024, 'must have at most 1,024 characters').regex(plainLines, notPlain).optional();
const seconds = z
  .int('must be an integer (seconds)')
  .min(1, 'must be at least 1 second')
  .max(2_147_483_647, 'must be at most 2,147,483,647 seconds')
  .optional();
const text = (max: number) =>
  z.string().min(1, 'must not be empty').max(max, `must have at most ${max} characters`).regex(plainLine, notPlain);
const isText = (value: unknown, max: number): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= max && plainLine.test(value);

/** What can be said of a member beside its name. */
export const memberFieldsSchema = strict({
  expires: z.string().optional(),
  disabled: z.boolean().optional(),
  review: z.string().optional(),
});

export const memberSchema = z.union([
  z.string(),
  strict({
    name: z.string(),
    expires: z.string().optional(),
    disabled: z.boolean().optional(),
    review: z.string().optional(),
  }),
]);

/** A name alone may be any text: it is parsed later. */
const membersSchema = list(z.array(memberSchema), (value) => typeof value === 'string');

export const roleSchema = strict({
  description,
  members: membersSchema.optional(),
  trust: z.string().optional(),
  tokenExpirySeconds: seconds,
  certExpirySeconds: seconds,
});

export const groupSchema = strict({ description, members: membersSchema.optional() });

/** Characters of the texts of a rule. */
const maxTexts = { action: 256, resource: 1024, role: 512 };
const withoutBlanks = /^\S*$/;

export const assertionSchema = strict({
  effect: z
    .string()
    .transform((value) => value.toUpperCase())
    .pipe(z.enum(['ALLOW', 'DENY']))
    .optional(),
  action: text(maxTexts.action),
  resource: text(maxTexts.resource).regex(withoutBlanks, 'must not hold blanks'),
  role: text(maxTexts.role),
  /** Where the rule counts; absent: everywhere. */
  conditions: conditionsSchema.optional(),
  /** Whether bundles carry action and resource in the case given; decisions never look at case. */
  caseSensitive: z.boolean().optional(),
});

/** What most rules are. Whatever is one is a rule by its schema too and stays as it is, for a tenth of the price. */
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
    description,
    /** Whether bundles carry actions and resources in the case given; decisions never look at case. */
    caseSensitive: z.boolean().optional(),
    active: z.string().nullable(),
    versions: mapping(assertionsSchema),
  }),
]);

export const serviceSchema = strict({
  description,
  enabled: z.boolean().optional(),
  hosts: list(z.array(text(253))).optional(),
  endpoint: text(1024).regex(/^\S*$/, 'must not hold blanks').optional(),
  publicKeys: z.record(z.string(), z.string()).optional(),
});

export const limitsSchema = strict({
  tokenExpirySeconds: seconds,
  serviceCertExpirySeconds: seconds,
  roleCertExpirySeconds: seconds,
});

const quota = z
  .int('must be an integer')
  .min(0, 'must be at least 0')
  .max(10_000_000, 'must be at most 10,000,000')
  .optional();

/** At most how many of each a domain may have, where that differs from what the server says. */
export const quotasSchema = strict({
  roles: quota,
  members: quota,
  groups: quota,
  policies: quota,
  assertions: quota,
  services: quota,
  keys: quota,
} satisfies Record<QuotaKind, typeof quota>);

export const awsAccountSchema = z.string().regex(/^\d{12}$/, 'must be 12 digits');

/** What a domain says of itself, beside what it has. */
export const domainFieldsSchema = strict({
  description,
  enabled: z.boolean().optional(),
  requireReason: z.boolean().optional(),
});

export const documentSchema = strict({
  domain: z.string(),
  description,
  enabled: z.boolean().optional(),
  /** Whether every change of the domain has to say why. */
  requireReason: z.boolean().optional(),
  limits: limitsSchema.optional(),
  quotas: quotasSchema.optional(),
  account: strict({ aws: awsAccountSchema }).optional(),
  roles: z.record(z.string(), roleSchema).optional(),
  groups: z.record(z.string(), groupSchema).optional(),
  policies: z.record(z.string(), policySchema).optional(),
  services: z.record(z.string(), serviceSchema).optional(),
});

export type DocumentShape = z.output<typeof documentSchema>;
export type MemberShape = z.output<typeof memberSchema>;
export type RoleShape = z.output<typeof roleSchema>;
export type GroupShape = z.output<typeof groupSchema>;
export type AssertionShape = z.output<typeof assertionSchema>;
export type PolicyShape = z.output<typeof policySchema>;
export type ServiceShape = z.output<typeof serviceSchema>;
