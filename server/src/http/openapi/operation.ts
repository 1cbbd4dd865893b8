import { z } from 'zod';

type Method = 'get' | 'put' | 'post' | 'delete';

/** Headers of answers that the document describes. */
export type HeaderName =
  | 'ETag'
  | 'Last-Modified'
  | 'Location'
  | 'Vary'
  | 'Signet-Warning'
  | 'WWW-Authenticate'
  | 'Retry-After'
  | 'Accept'
  | 'Accept-Encoding'
  | 'X-Request-Id'
  | 'Pragma';

/** Headers of an answer: always or sometimes present. Every answer has `Cache-Control`. */
export type AnswerHeaders = Readonly<Partial<Record<HeaderName, 'always' | 'sometimes'>>>;

/** Answer of an operation; without content it has no body. */
export interface OperationAnswer {
  readonly says: string;
  readonly schema?: z.ZodType;
  /** Media types of a body that is not JSON. */
  readonly types?: readonly string[];
  readonly headers?: AnswerHeaders;
}

/** A parameter of a query. */
export interface Parameter {
  readonly says: string;
  readonly schema: z.ZodType;
  readonly required?: boolean;
}

/** Statuses that not every operation may answer. */
type Failure = 403 | 404 | 409 | 415 | 503;

/** Operation of the server: the row of the table from which the OpenAPI document is generated. */
export interface Operation {
  /** Id by which clients know it; unique. */
  readonly id: string;
  readonly method: Method;
  /** Path from the root, with its parameters in braces. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Parameters of the path that are no names of the usual kind. */
  readonly inPath?: Readonly<Record<string, z.ZodType>>;
  readonly query?: Readonly<Record<string, Parameter>>;
  readonly body?: z.ZodType;
  /** `application/json` when absent. */
  readonly bodyType?: string;
  /** Form of a management operation: a view, a list in pages or a change, each with the parameters that all of its kind have. */
  readonly form?: 'view' | 'list' | 'change';
  /** True if callers may come without a certificate, as the body attests them. */
  readonly isAttested?: boolean;
  /** True if failures have the members of RFC 6749 and no challenge. */
  readonly isOAuth?: boolean;
  /** True if the server may ask a provider of instances, whose failure is 500. */
  readonly asksProvider?: boolean;
  /** Answers by status, without failures. */
  readonly answers: Readonly<Record<number, OperationAnswer>>;
  /** Failures beside those of every operation. */
  readonly failures: readonly Failure[];
}

/** Problem in a document that was sent, with its place; lines and columns count from 1. */
export const documentProblem = z.strictObject({
  file: z.string(),
  line: z.int(),
  column: z.int(),
  field: z.string(),
  message: z.string(),
});

/**
 * Body of every error (docs/reference/http.md#errors). `problems` belongs to documents that were sent; the token endpoint adds the last two
 * (RFC 6749 §5.2).
 */
export const resourceError = z.strictObject({
  code: z.int().meta({ minimum: 400, maximum: 599 }),
  message: z.string(),
  problems: z.array(documentProblem).optional(),
  error: z.string().optional(),
  error_description: z.string().optional(),
});

/** A page of a list; `next` is the cursor of the one after it. */
export function pageOf(item: z.ZodType): z.ZodType {
  return z.strictObject({ items: z.array(item), next: z.string().optional() });
}
