import { maxNameLength } from '@signet/policy-engine/names';
import { z } from 'zod';
import { planDigestSchema } from '../../management/plan-file.ts';
import { maxRequestSeconds } from '../../model/record-fields.ts';

const comment = z.string().min(1).max(1024);

/** Body of a request for a role. */
export const roleRequestSchema = z.strictObject({
  role: z.string().min(1).max(maxNameLength),
  seconds: z.int().min(60).max(maxRequestSeconds),
  reason: z.string().min(1).max(1024),
});

/** Body of an approval; without `plan` for the review of a change that was made already. */
export const approvalSchema = z.strictObject({
  plan: planDigestSchema.exactOptional(),
  comment: comment.exactOptional(),
});

/** Body of a rejection. */
export const rejectionSchema = z.strictObject({ comment });
