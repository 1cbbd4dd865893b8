import { z } from 'zod';
import type { documentFlags } from '../../management/document-refusals.ts';
import { planDigestSchema } from '../../management/plan-file.ts';
import { filesSchema } from '../../management/plan-files.ts';
import * as shapes from './management-shapes.ts';
import type { Operation, Parameter } from './operation.ts';
import { requestStored } from './request-operations.ts';

const flag = z.boolean().meta({ default: false });

const flags: Readonly<Record<(typeof documentFlags)[number], Parameter>> = {
  allowWildcard: { says: 'allow `*` and prefix patterns as members', schema: flag },
  removeMemberships: { says: 'remove deleted objects from the roles and groups that list them', schema: flag },
  reuseName: { says: 'allow reuse of deleted names that are still reserved', schema: flag },
  strict: { says: 'treat warnings as errors', schema: flag },
};

/** Operations on the files of a folder: `<domain>.yaml`, `<domain>.cases.yaml`. */
export function documentOperations(base: string, tag: string): readonly Operation[] {
  return [
    {
      id: 'PlanDocuments',
      method: 'post',
      path: `${base}/plan`,
      tag,
      summary: 'Shows what domain documents would change, and runs policy tests',
      query: flags,
      body: filesSchema,
      answers: { 200: { says: 'the effect as the caller may know it, and its digest', schema: shapes.planShape } },
      failures: [403, 503],
    },
    {
      id: 'ApplyDocuments',
      method: 'post',
      path: `${base}/apply`,
      tag,
      summary: 'Applies domain documents in one transaction if their effect is the planned one',
      query: {
        plan: { says: '`digest` of the plan', schema: planDigestSchema, required: true },
        ...flags,
        request: { says: 'store them as a request where they need approvals', schema: flag },
        breakGlass: { says: 'apply them at once without approvals, to be reviewed afterwards', schema: flag },
        reason: { says: 'reason, recorded in the audit log', schema: z.string().meta({ maxLength: 1024 }) },
      },
      body: filesSchema,
      answers: { 200: { says: 'what was applied', schema: shapes.appliedShape }, 202: requestStored },
      failures: [403, 409, 503],
    },
  ];
}
