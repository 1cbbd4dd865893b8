import { z } from 'zod';
import { about, httpsAddress, pathSchema } from './options/about.ts';
import { accessChecksSchema, managementSchema, tokensSchema } from './options/authorization-options.ts';
import { certificatesSchema, crlSchema, sshSchema, tlsSchema } from './options/certificate-options.ts';
import { cloudSchema, instancesSchema } from './options/instance-options.ts';
import {
  budgetsSchema,
  limitsSchema,
  listenSchema,
  logSchema,
  shutdownSchema,
  timeoutsSchema,
} from './options/listener-options.ts';
import { metricsSchema } from './options/metrics-options.ts';
import { peopleSchema } from './options/people-options.ts';
import { bundlesSchema, keysSchema, snapshotSchema, storeSchema } from './options/store-options.ts';

const says = (description: string) => ({ description });

/** Every option of the server, with its meaning, and its default where it has one. Paths are relative to the file that names them. */
export const configSchema = z
  .strictObject({
    profile: z
      .enum(['signet', 'athenz'])
      .default('signet')
      .meta(
        about(
          '0.1',
          'athenz',
          '`signet`: the operations of the reference; `athenz`: also those of Athenz, for its unmodified clients.',
        ),
      ),
    listen: listenSchema.prefault({}).meta(says('Where the server listens.')),
    baseUrl: httpsAddress.optional().meta(
      about('0.1', 'https://signet.example:4443/v1', 'URL that clients call; its path is the base path.', {
        absent: '`https://<host>:<port>` of `listen` and the base path of the profile',
      }),
    ),
    issuer: httpsAddress
      .optional()
      .meta(about('0.1', 'https://signet.example', '`iss` of the tokens.', { absent: '`baseUrl`' })),
    dataDir: pathSchema
      .default('data')
      .meta(about('0.1', '/var/lib/signet', 'Folder of the SQLite store and of key files.')),
    store: storeSchema.prefault({}).meta(says('Where domains, keys, certificates and instances are.')),
    tls: tlsSchema.meta(says('The identity of the server, and whose clients it trusts.')),
    workers: z
      .int()
      .min(1)
      .max(256)
      .default(1)
      .meta(about('0.1', 4, 'Processes that share the port.', { unit: 'processes' })),
    anonymousKeys: z
      .boolean()
      .optional()
      .meta(
        about('0.1', true, 'Lets callers without a certificate read the public keys and the metadata.', {
          absent: 'false in the profile `signet`, true in `athenz`',
        }),
      ),
    tokens: tokensSchema.prefault({}).meta(says('Access tokens and ID tokens.')),
    certificates: certificatesSchema.prefault({}).meta(says('X.509 certificates that the server issues.')),
    crl: crlSchema.prefault({}).meta(says('Revocation lists.')),
    instances: instancesSchema.prefault({}).meta(says('Registration of instances, and who attests them.')),
    people: peopleSchema.prefault({}).meta(says('Certificates of people.')),
    snapshot: snapshotSchema.prefault({}).meta(says('The view of the store from which a process answers.')),
    bundles: bundlesSchema.prefault({}).meta(says('Signed policy bundles.')),
    keys: keysSchema.prefault({}).meta(says('Keys that sign tokens and bundles.')),
    management: managementSchema.prefault({}).meta(says('The management API.')),
    accessChecks: accessChecksSchema.prefault({}).meta(says('Access checks by the server.')),
    ssh: sshSchema.prefault({}).meta(says('SSH certificates.')),
    cloud: cloudSchema.prefault({}).meta(says('Temporary credentials of cloud providers.')),
    limits: limitsSchema.prefault({}).meta(says('Sizes and counts above which a request is refused.')),
    budgets: budgetsSchema.prefault({}).meta(says('Processor time and concurrency of callers.')),
    timeouts: timeoutsSchema.prefault({}).meta(says('Timeouts of clients.')),
    metrics: metricsSchema.prefault({}).meta(says('Metrics for operators.')),
    shutdown: shutdownSchema.prefault({}).meta(says('How a server stops.')),
    log: logSchema.prefault({}).meta(says('What is logged.')),
  })
  .meta({ title: 'signet.yaml', description: 'The configuration of a Signet token server.' });

/** The options as written, defaults filled in. */
export type ConfigValues = z.output<typeof configSchema>;

/** The dotted path of every option, e.g. `tokens.bound`. */
export const optionPaths: readonly string[] = leafPaths(configSchema, '');

function leafPaths(schema: z.ZodType, prefix: string): string[] {
  const inner = schema instanceof z.ZodPrefault ? schema.unwrap() : schema;
  if (!(inner instanceof z.ZodObject)) return [prefix.slice(0, -1)];
  return Object.entries(inner.shape).flatMap(([key, value]) => leafPaths(value as z.ZodType, `${prefix}${key}.`));
}
