import { z } from 'zod';
import { metadataPaths } from '../routes/metadata.ts';
import { openApiPaths } from '../routes/openapi.ts';
import { healthPaths, readinessPaths } from '../routes/probe-paths.ts';
import { names } from './names.ts';
import type { Operation } from './operation.ts';
import type { Served } from './served.ts';
import { cached } from './token-operations.ts';

const text = z.string();
export const metadataShape = z.looseObject({ issuer: text, token_endpoint: text, jwks_uri: text });
const aliveShape = z.strictObject({ status: z.literal('alive') });
const storeState = z.strictObject({ epoch: z.int(), counter: z.int(), head: text });
const freshness = z.enum(['fresh', 'late', 'ended']);
export const readinessShape = z.looseObject({
  status: z.enum(['ready', 'stopping', 'no-signing-key', 'certificate-expired', 'clock', 'store']),
  degraded: z.literal(true).optional(),
  clock: z.enum(['degraded', 'wrong']).optional(),
  snapshot: z.strictObject({ counter: z.int(), ageMs: z.number() }).optional(),
  store: z.enum(['readable', 'unreadable', 'read-only']).optional(),
  diverged: z.strictObject({ known: storeState, found: storeState }).optional(),
  certificate: z.strictObject({ status: freshness, notAfter: names.Timestamp }).optional(),
  issuer: z.strictObject({ status: freshness, notAfter: names.Timestamp }).optional(),
  revocationLists: z.strictObject({ status: freshness, left: z.number() }).optional(),
  keys: z.strictObject({ token: text.nullable(), bundle: text.nullable(), missing: z.array(text) }).optional(),
});
const documentShape = z.looseObject({ openapi: text, info: z.looseObject({}), paths: z.looseObject({}) });

/** The same operation at several paths, each with an id of its own. */
function atEach(paths: readonly string[], operation: Omit<Operation, 'path'>): readonly Operation[] {
  return paths.map((path, index) => ({
    ...operation,
    id: index === 0 ? operation.id : `${operation.id}${index + 1}`,
    path,
  }));
}

/** The metadata of RFC 8414, at each of its paths. */
export function metadataOperations({ addresses }: Pick<Served, 'addresses'>): readonly Operation[] {
  return atEach(metadataPaths(addresses), {
    id: 'ServerMetadata',
    method: 'get',
    tag: 'tokens',
    summary: 'Returns the metadata of the server (RFC 8414)',
    answers: cached(metadataShape, 'the metadata'),
    failures: [],
  });
}

/** Operations for probes, and this document. */
export function serverOperations({ addresses }: Pick<Served, 'addresses'>): readonly Operation[] {
  const common = { method: 'get', tag: 'server', failures: [] } as const;
  return [
    ...atEach(healthPaths(addresses), {
      ...common,
      id: 'Health',
      summary: 'Reports whether the process is alive',
      answers: { 200: { says: 'the process is alive', schema: aliveShape } },
    }),
    ...atEach(readinessPaths(addresses), {
      ...common,
      id: 'Readiness',
      summary: 'Reports whether the server is ready, and the age of its data',
      query: { for: { says: 'intended requests: `writes` require a writable store', schema: z.literal('writes') } },
      answers: {
        200: { says: 'the server is ready', schema: readinessShape },
        503: { says: 'the server is not ready', schema: readinessShape },
      },
    }),
    ...atEach(openApiPaths(addresses), {
      ...common,
      id: 'OpenApi',
      summary: 'Returns this document',
      answers: cached(documentShape, 'the document'),
    }),
  ];
}
