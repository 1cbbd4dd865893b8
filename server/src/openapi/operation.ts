import { z } from 'zod';

export type Method = 'get' | 'put' | 'post' | 'delete';

/** One answer of an operation; without a schema it has no body, or one that is not JSON. */
export interface OperationAnswer {
  readonly says: string;
  readonly schema?: z.ZodType;
  /** `application/json` when absent. */
  readonly type?: string;
  /** Another form of the same. */
  readonly otherType?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One operation of the server: the row of the table that the OpenAPI document is made of. */
export interface Operation {
  readonly method: Method;
  /** From the root, with its parameters in braces. */
  readonly path: string;
  readonly summary: string;
  /** Parameters of the query and what they mean. */
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: z.ZodType;
  /** `application/json` when absent. */
  readonly bodyType?: string;
  /** Of the management API: a view, a list in pages or a change, each with the parameters that all of its kind take. */
  readonly form?: 'view' | 'list' | 'change';
  /** Whether it answers callers without a certificate. */
  readonly open?: boolean;
  /** By status; every other one is a `ResourceError`. */
  readonly answers: Readonly<Record<number, OperationAnswer>>;
}

/** Body of every error (docs/reference/http.md#errors); the token endpoint adds the last two (RFC 6749 §5.2). */
export const resourceError = z.strictObject({
  code: z.int(),
  message: z.string(),
  error: z.string().optional(),
  error_description: z.string().optional(),
});

/** A page of a list; `next` is the cursor of the one after it. */
export function pageOf(item: z.ZodType): z.ZodType {
  return z.strictObject({ items: z.array(item), next: z.string().optional() });
}
