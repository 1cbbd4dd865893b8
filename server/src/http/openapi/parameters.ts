import { z } from 'zod';
import { changeParameters } from '../management/request.ts';
import type { Json, JsonSchemas } from './json-schema.ts';
import type { Operation, Parameter } from './operation.ts';

const flag = z.boolean().meta({ default: false });
const text = z.string();

/** Parameters of many operations, by their names in the document. */
const common = {
  dryRun: ['query', 'dryRun', { says: 'preview only: what would change, and who gains or loses access', schema: flag }],
  reason: [
    'query',
    'reason',
    {
      says: 'reason, recorded in the audit log; required if the domain requires reasons',
      schema: text.meta({ maxLength: 1024 }),
    },
  ],
  allowWildcard: ['query', 'allowWildcard', { says: 'allow `*` and prefix patterns as members', schema: flag }],
  removeMemberships: [
    'query',
    'removeMemberships',
    { says: 'remove deleted objects from the roles and groups that list them', schema: flag },
  ],
  reuseName: ['query', 'reuseName', { says: 'allow reuse of a deleted name that is still reserved', schema: flag }],
  request: ['query', 'request', { says: 'store the change as a request where it needs approvals', schema: flag }],
  breakGlass: [
    'query',
    'breakGlass',
    { says: 'make the change at once without approvals, to be reviewed afterwards', schema: flag },
  ],
  limit: [
    'query',
    'limit',
    { says: 'maximum number of items', schema: z.int().meta({ minimum: 1, maximum: 1000, default: 100 }) },
  ],
  cursor: ['query', 'cursor', { says: '`next` of the previous page', schema: text }],
  known: ['header', 'If-None-Match', { says: 'entity tags of the copies that the caller has', schema: text }],
  match: ['header', 'If-Match', { says: 'entity tags, of which the object must have one', schema: text }],
  isNew: ['header', 'If-None-Match', { says: '`*`: the object must be new', schema: text }],
} as const satisfies Record<string, readonly ['query' | 'header', string, Parameter]>;
type CommonParameter = keyof typeof common;

export function commonParameters(schemas: JsonSchemas): Readonly<Record<CommonParameter, Json>> {
  const made = Object.entries(common).map(([id, [where, name, described]]) => [
    id,
    parameter(where, name, described, schemas),
  ]);
  return Object.fromEntries(made);
}

export function parameter(
  where: 'query' | 'header',
  name: string,
  { says, schema, required = false }: Parameter,
  schemas: JsonSchemas,
): Json {
  return {
    name,
    in: where,
    description: says,
    ...(required && { required }),
    schema: schemas.of(schema, 'output'),
  };
}

/** Parameters common to all operations of a form, and to those with cacheable answers. */
export function commonOf({ form, method, answers }: Operation): readonly CommonParameter[] {
  if (form === 'change') return [...changeParameters, 'match', 'isNew'];
  const isTagged = form !== undefined || answers[304] !== undefined;
  return [
    ...(form === 'list' ? (['limit', 'cursor'] as const) : []),
    ...(isTagged && method === 'get' ? (['known'] as const) : []),
  ];
}
