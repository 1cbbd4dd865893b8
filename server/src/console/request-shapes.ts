import { conditionKeys, conditionOperators } from '@signet/policy-engine/policy';
import { z } from 'zod';

/* Change requests and their effects, as the management API answers them. */

const texts = z.object({ matching: z.array(z.string()), except: z.array(z.string()) });
const term = z.object({ operator: z.enum(conditionOperators), value: z.string() });
const values = z.union([
  z.object({ is: z.string() }),
  z.object({
    isNot: z.array(z.string()),
    matching: z.array(term).exactOptional(),
    except: z.array(term).exactOptional(),
    unreadableBy: z.array(z.enum(conditionOperators)).exactOptional(),
  }),
  z.null(),
]);

/** Context of an effect. INVARIANT: a condition that this version does not know is refused: nobody approves an effect that is shown in part. */
const accessChange = z.object({
  change: z.enum(['gain', 'loss']),
  domain: z.string(),
  principal: z.string(),
  within: z.string().exactOptional(),
  action: texts,
  resource: texts,
  contexts: z.array(z.partialRecord(z.enum(conditionKeys), values)).exactOptional(),
  example: z.object({ principal: z.string(), action: z.string(), resource: z.string() }),
});

const objectChange = z.object({
  change: z.enum(['create', 'change', 'delete']),
  kind: z.string(),
  domain: z.string(),
  name: z.string(),
  fields: z
    .array(z.object({ field: z.string(), before: z.string().exactOptional(), after: z.string().exactOptional() }))
    .exactOptional(),
});
export type ObjectChange = z.output<typeof objectChange>;

const problem = z.object({ file: z.string().exactOptional(), message: z.string() });

const planShape = z.object({
  digest: z.string(),
  changes: z.array(objectChange),
  changesTotal: z.int().exactOptional(),
  impact: z.array(accessChange).exactOptional(),
  impactTotals: z.object({ gains: z.int(), losses: z.int(), isExact: z.boolean() }).exactOptional(),
  warnings: z.array(problem).exactOptional(),
  refusals: z.array(problem).exactOptional(),
});
export type ShownPlan = z.output<typeof planShape>;

const approval = z.object({
  by: z.string(),
  at: z.string(),
  comment: z.string().exactOptional(),
  /** False: the effect changed after the approval, which no longer counts. */
  current: z.boolean(),
});

export const requestStates = ['open', 'applied', 'rejected', 'withdrawn', 'expired', 'unreviewed'] as const;

export const requestShape = z.object({
  id: z.int(),
  kind: z.enum(['role', 'edit', 'documents']),
  state: z.enum(requestStates),
  author: z.string(),
  created: z.string(),
  expires: z.string().exactOptional(),
  closed: z.string().exactOptional(),
  reason: z.string().exactOptional(),
  domains: z.array(z.string()),
  needed: z.int(),
  approvals: z.array(approval),
  role: z.string().exactOptional(),
  seconds: z.int().exactOptional(),
  operation: z
    .object({
      method: z.string(),
      path: z.string(),
      query: z.record(z.string(), z.string()).exactOptional(),
      body: z.unknown().exactOptional(),
    })
    .exactOptional(),
  files: z.array(z.object({ name: z.string(), text: z.string().exactOptional() })).exactOptional(),
  plan: planShape.exactOptional(),
  /** Changes made by break-glass, and the changes that undo them. */
  outcome: z.object({ changes: z.array(objectChange), undo: z.array(objectChange) }).exactOptional(),
  problem: z.string().exactOptional(),
  seenByAuthor: z.boolean().exactOptional(),
});
export type ShownRequest = z.output<typeof requestShape>;
