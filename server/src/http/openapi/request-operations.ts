import { z } from 'zod';
import { requestStates } from '../../model/change-requests.ts';
import { approvalSchema, rejectionSchema, roleRequestSchema } from '../management/request-bodies.ts';
import { planShape, previewShape } from './management-shapes.ts';
import { names } from './names.ts';
import { type Operation, type OperationAnswer, pageOf } from './operation.ts';

const { changes } = previewShape.shape;

/** Change that waits for approvals, or was made by break-glass and waits for a review. */
export const changeRequestShape = z.strictObject({
  id: z.int().meta({ minimum: 1 }),
  kind: z.enum(['role', 'edit', 'documents']),
  state: z.enum(requestStates),
  /** Principal; the user of the machine for a command beside the store. */
  author: z.string(),
  created: names.Timestamp,
  expires: names.Timestamp,
  closed: names.Timestamp.optional(),
  reason: z.string().optional(),
  domains: z.array(names.DomainName),
  /** Approvals that it needed when it was made. */
  needed: z.int(),
  approvals: z.array(
    z.strictObject({
      by: names.EntityName,
      at: names.Timestamp,
      comment: z.string().optional(),
      /** False if the effect has changed since: the approval counts no more. */
      current: z.boolean(),
    }),
  ),
  /** `domain:role.name`. */
  role: z.string().optional(),
  seconds: z.int().optional(),
  operation: z
    .strictObject({
      method: z.enum(['PUT', 'POST', 'DELETE']),
      path: z.string(),
      query: z.record(z.string(), z.literal('true')).optional(),
      body: z.unknown().optional(),
    })
    .optional(),
  files: z.array(z.strictObject({ name: z.string(), text: z.string().optional() })).optional(),
  /** Effect of an open request as of now. */
  plan: planShape.optional(),
  /** Why an open request has no effect now. */
  problem: z.string().optional(),
  /** False if the effect is not the one of the time when it was made. */
  seenByAuthor: z.boolean().optional(),
  /** Changes that were made by break-glass, and those that undo them; not in lists. */
  outcome: z.strictObject({ changes, undo: changes }).optional(),
});

/** Answer to a change that was asked for with `request`. */
export const requestStored: OperationAnswer = {
  says: 'stored as a change request',
  schema: changeRequestShape,
  headers: { Location: 'always' },
};

const tagged = { ETag: 'always' } as const;
const inPath = { id: z.int().meta({ minimum: 1, examples: [17] }) };

/** Operations on change requests. */
export function requestOperations(base: string, tag: string): readonly Operation[] {
  const path = `${base}/requests`;
  const request: OperationAnswer = { says: 'the request', schema: changeRequestShape };
  const one = { path: `${path}/{id}`, tag, inPath };
  return [
    {
      id: 'ListRequests',
      method: 'get',
      path,
      tag,
      summary: 'Lists change requests that the caller may view, newest first',
      query: {
        state: { says: 'only requests in this state', schema: z.enum(requestStates) },
        domain: { says: 'only requests that change this domain', schema: names.DomainName },
        author: { says: 'only requests of this principal', schema: z.string() },
        awaiting: { says: '`me`: only requests that the caller may approve or review', schema: z.enum(['me']) },
      },
      form: 'list',
      answers: { 200: { says: 'a page of the list', schema: pageOf(changeRequestShape), headers: tagged } },
      failures: [403, 503],
    },
    {
      id: 'RequestRole',
      method: 'post',
      path,
      tag,
      summary: 'Asks for a role for a time',
      body: roleRequestSchema,
      answers: {
        200: { ...request, says: 'applied at once, as it needs no approval', headers: { Location: 'always' } },
        201: { ...request, says: 'waits for approvals', headers: { Location: 'always' } },
      },
      failures: [403, 404, 409, 503],
    },
    {
      ...one,
      id: 'GetRequest',
      method: 'get',
      summary: 'Returns a change request with its present effect',
      query: {
        effect: { says: '`false`: without the effect', schema: z.boolean().meta({ default: true }) },
        files: { says: 'with the texts of documents', schema: z.boolean().meta({ default: false }) },
      },
      answers: { 200: request },
      failures: [403, 404, 503],
    },
    {
      ...one,
      id: 'ApproveRequest',
      method: 'post',
      path: `${path}/{id}/approval`,
      summary: 'Approves the effect of a request, or reviews a change made by break-glass',
      body: approvalSchema,
      answers: { 200: request },
      failures: [403, 404, 409, 503],
    },
    {
      ...one,
      id: 'RejectRequest',
      method: 'post',
      path: `${path}/{id}/rejection`,
      summary: 'Rejects a request',
      body: rejectionSchema,
      answers: { 200: { ...request, headers: tagged } },
      failures: [403, 404, 409, 503],
    },
    {
      ...one,
      id: 'WithdrawRequest',
      method: 'delete',
      summary: 'Withdraws an open request of the caller',
      answers: { 204: { says: 'withdrawn' } },
      failures: [403, 404, 409, 503],
    },
  ];
}
