import { statuses } from '@signet/policy-engine/policy';
import { z } from 'zod';

/* Answers of the management API, as far as pages show them. Members that are not listed are dropped: a newer server may send more. */

const conditions = z.object({
  conditionsList: z.array(
    z.object({ conditionsMap: z.record(z.string(), z.object({ operator: z.string(), value: z.string() })) }),
  ),
});
const assertion = z.object({
  effect: z.enum(['ALLOW', 'DENY']).default('ALLOW'),
  action: z.string(),
  resource: z.string(),
  role: z.string(),
  conditions: conditions.exactOptional(),
});

export function pageShape<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), next: z.string().exactOptional() });
}

export const domainShape = z.object({
  name: z.string(),
  description: z.string().exactOptional(),
  enabled: z.boolean().exactOptional(),
  requireReason: z.boolean().exactOptional(),
  /** Approvals that a change needs. */
  approvals: z.int().exactOptional(),
});
export type ShownDomain = z.output<typeof domainShape>;

export const memberShape = z.object({
  name: z.string(),
  expires: z.string().exactOptional(),
  review: z.string().exactOptional(),
  disabled: z.boolean().exactOptional(),
});
export type ShownMember = z.output<typeof memberShape>;

export const roleShape = z.object({
  name: z.string(),
  description: z.string().exactOptional(),
  trust: z.string().exactOptional(),
  approvals: z.int().exactOptional(),
  /** Longest membership that may be asked for. */
  requestSeconds: z.int().exactOptional(),
  /** First members; absent when the person may not look at the role. */
  members: z.array(z.union([z.string().transform((name): ShownMember => ({ name })), memberShape])).exactOptional(),
  more: z.boolean().exactOptional(),
});
export type RoleDetails = z.output<typeof roleShape>;

export const policyShape = z.object({
  name: z.string(),
  description: z.string().exactOptional(),
  active: z.string().nullable(),
  versions: z.record(z.string(), z.array(assertion)),
});

export const serviceShape = z.object({
  name: z.string(),
  description: z.string().exactOptional(),
  enabled: z.boolean().exactOptional(),
  publicKeys: z.record(z.string(), z.string()).exactOptional(),
});

const entryState = z.enum(['counts', 'expired', 'disabled']);
const path = z.union([
  z.object({ kind: z.literal('member'), entry: z.string(), state: entryState }),
  z.object({ kind: z.literal('group'), group: z.string(), state: entryState }),
  z.object({ kind: z.literal('assumed'), from: z.string() }),
  z.object({ kind: z.literal('delegated'), domain: z.string(), from: z.string() }),
]);

export const explanationShape = z.object({
  granted: z.boolean(),
  status: z.enum(statuses),
  principal: z.string(),
  switchedOff: z.boolean(),
  roles: z.array(z.object({ role: z.string(), held: z.boolean(), paths: z.array(path) })),
  hidden: z.int().exactOptional(),
  decidedBy: z.object({ policy: z.string(), assertion, heldRole: z.string() }).exactOptional(),
  nearMisses: z.array(
    z.object({
      policy: z.string(),
      assertion,
      misses: z.array(z.enum(['role', 'action', 'resource', 'condition', 'effect'])),
    }),
  ),
  changes: z.array(
    z.union([
      z.object({ kind: z.literal('grant-role'), domain: z.string(), role: z.string() }),
      z.object({ kind: z.literal('add-assertion'), domain: z.string(), assertion }),
      z.object({ kind: z.literal('remove-assertion'), policy: z.string(), assertion }),
    ]),
  ),
});

export const accessEntryShape = z.object({
  domain: z.string(),
  policy: z.string(),
  effect: z.enum(['ALLOW', 'DENY']),
  action: z.string(),
  resource: z.string(),
  conditions: conditions.exactOptional(),
  denied: z.boolean().exactOptional(),
  through: z.array(z.object({ role: z.string(), paths: z.array(path) })),
});

export const hitShape = z.object({
  domain: z.string(),
  kind: z.enum(['role', 'group', 'assertion']),
  name: z.string(),
  entry: z.string(),
  expires: z.string().exactOptional(),
  disabled: z.boolean().exactOptional(),
});
export type SearchHit = z.output<typeof hitShape>;

export const certificateShape = z.object({
  serial: z.string(),
  kind: z.string(),
  subject: z.string(),
  holder: z.string(),
  provider: z.string().exactOptional(),
  instanceId: z.string().exactOptional(),
  notBefore: z.string(),
  notAfter: z.string(),
  state: z.enum(['intended', 'valid', 'expired', 'revoked']),
  revoked: z.object({ at: z.string(), reason: z.string() }).exactOptional(),
});
export type ShownCertificate = z.output<typeof certificateShape>;

export const changeShape = z.object({
  id: z.int(),
  at: z.string(),
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  version: z.int().exactOptional(),
  reason: z.string().exactOptional(),
  certificateSerial: z.string().exactOptional(),
  before: z.unknown().exactOptional(),
  after: z.unknown().exactOptional(),
});
export type ShownChange = z.output<typeof changeShape>;

export const reviewShape = z.object({
  domain: z.string(),
  kind: z.enum(['role', 'group']),
  name: z.string(),
  member: z.string(),
  review: z.string(),
  expires: z.string().exactOptional(),
});
