import { z } from 'zod';
import { parseHost } from '../store-place.ts';
import { about, day, pathSchema, seconds } from './about.ts';

export const postgresSchema = z.strictObject({
  hosts: z
    .array(z.string().refine((text) => parseHost(text) !== undefined, 'must be host:port or the folder of a socket'))
    .max(16)
    .default([])
    .meta(
      about(
        '0.2',
        ['db1.example:5432', 'db2.example:5432'],
        '`host:port`, `[address]:port`, or the folder of a socket: the primary is used.',
      ),
    ),
  database: z
    .string()
    .min(1)
    .max(63)
    .default('signet')
    .meta(about('0.2', 'signet_prod', 'Name of the database.')),
  user: z
    .string()
    .min(1)
    .max(63)
    .default('signet')
    .meta(about('0.2', 'signet_server', 'Role to log in as.')),
  passwordFile: pathSchema.optional().meta(
    about('0.2', '/etc/signet/postgres-password', 'File with the password, read for each connection.', {
      absent: 'no password',
    }),
  ),
  certificate: pathSchema
    .optional()
    .meta(
      about('0.2', '/etc/signet/postgres.cert.pem', 'PEM certificate to log in with.', { absent: 'no certificate' }),
    ),
  key: pathSchema.optional().meta(
    about('0.2', '/etc/signet/postgres.key.pem', 'PEM private key of `store.postgres.certificate`.', {
      absent: 'none',
    }),
  ),
  ca: pathSchema.optional().meta(
    about(
      '0.2',
      '/etc/signet/postgres-ca.pem',
      'PEM certificates that the certificate of the database must chain to.',
      {
        absent: 'what this machine trusts',
      },
    ),
  ),
  poolSize: z
    .int()
    .min(2)
    .max(100)
    .default(8)
    .meta(about('0.2', 16, 'Connections of each process.', { unit: 'connections' })),
  statementTimeoutMs: z
    .int()
    .min(100)
    .max(600_000)
    .default(5000)
    .meta(about('0.2', 10_000, 'Timeout of a statement.')),
  connectTimeoutMs: z
    .int()
    .min(100)
    .max(60_000)
    .default(2000)
    .meta(about('0.2', 1000, 'Timeout to connect to one host.')),
  listen: z
    .boolean()
    .default(true)
    .meta(
      about(
        '0.2',
        false,
        'Whether changes reach the other servers at once, by an additional connection; not through a pooler in transaction mode.',
      ),
    ),
  migrate: z
    .enum(['auto', 'manual'])
    .default('auto')
    .meta(about('0.2', 'manual', '`manual`: only `signet store migrate` migrates the schema.')),
});

export const storeSchema = z.strictObject({
  kind: z
    .enum(['sqlite', 'postgres'])
    .default('sqlite')
    .meta(about('0.2', 'postgres', 'An SQLite file in `dataDir`, or a PostgreSQL database for several servers.')),
  onDivergence: z
    .enum(['warn', 'new-epoch'])
    .default('warn')
    .meta(
      about(
        '0.2',
        'new-epoch',
        'What a server does that finds another history in the store than it knew, as after a failover that lost changes: `warn` in its log and in `/readyz` until `signet store new-epoch` is run, or run it by itself.',
      ),
    ),
  postgres: postgresSchema.prefault({}).meta({ description: 'The database of `store.kind: postgres`.' }),
});

export const snapshotSchema = z.strictObject({
  refreshIntervalMs: z
    .int()
    .min(50)
    .max(60_000)
    .default(2000)
    .meta(
      about(
        '0.1',
        500,
        'How often the store is read for changes by other processes. Most arrive sooner: with SQLite from processes of the same machine, with PostgreSQL by `store.postgres.listen`.',
      ),
    ),
});

export const bundlesSchema = z.strictObject({
  lifetimeSeconds: seconds(3600, 90 * day)
    .default(7 * day)
    .meta(about('0.1', 14 * day, 'Lifetime of a policy bundle: how long a host decides without the server.')),
  maxAgeSeconds: seconds(0, 3600)
    .default(30)
    .meta(about('0.1', 60, 'Cache lifetime of a bundle.')),
});

export const keysSchema = z.strictObject({
  maxAgeSeconds: seconds(0, day)
    .default(300)
    .meta(about('0.1', 600, 'Cache lifetime of the public keys.')),
  prepublishSeconds: seconds(0, 30 * day)
    .default(3600)
    .meta(about('0.1', 7200, 'How long a new key is published before it signs.')),
  rotateEverySeconds: seconds(day, 3650 * day)
    .optional()
    .meta(
      about('0.2', 90 * day, 'How long a key signs before the servers rotate it.', {
        absent: 'keys are rotated by hand',
      }),
    ),
  storage: z
    .enum(['files', 'store'])
    .default('files')
    .meta(
      about(
        '0.2',
        'store',
        'Where private halves of the signing keys are: in files below `dataDir`, or in the store, sealed with the key in `keys.sealingKeyFile`.',
      ),
    ),
  sealingKeyFile: pathSchema.optional().meta(
    about('0.2', '/etc/signet/sealing.key', '32 random bytes, raw or base64; the same for every server of the store.', {
      absent: 'no keys can be sealed',
    }),
  ),
  previousSealingKeyFiles: z
    .array(pathSchema)
    .max(8)
    .default([])
    .meta(
      about(
        '0.2',
        ['/etc/signet/sealing-2025.key'],
        'Earlier sealing keys, for what `signet keys reseal` has not yet resealed.',
      ),
    ),
});
