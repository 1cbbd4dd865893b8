import { z } from 'zod';
import { InvalidRequestError } from '../errors.ts';

/** Digest of an effect: SHA-256 in base64url. */
export const planDigestSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{43}$/, 'must be 43 characters of base64url, as `plan` prints it');

const planFileSchema = z.strictObject({ format: z.literal('signet-plan-2'), digest: planDigestSchema });

/** Content of a file of `signet plan --out`. */
type PlanFile = z.output<typeof planFileSchema>;

export function planFileOf({ digest }: { readonly digest: string }): PlanFile {
  return { format: 'signet-plan-2', digest };
}

/** Digest of the effect in a file that `signet plan --out` wrote. Throws `InvalidRequestError`. */
export function parsePlanFile(text: string): string {
  const value = jsonOf(text);
  if (z.looseObject({ format: z.literal('signet-plan-1') }).safeParse(value).success)
    throw new InvalidRequestError('the plan file is of an earlier version: plan again');
  const file = planFileSchema.safeParse(value);
  if (!file.success) throw new InvalidRequestError('the plan file is not one that `signet plan --out` wrote');
  return file.data.digest;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
