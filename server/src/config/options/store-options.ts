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
        '`host:port`, `[address]:port`, or the folder of a socket: the one that is not a standby is used.',
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
    about(
      '0.2',
      '/etc/signet/postgres-password',
      'File of the password, which never stands in the configuration itself.',
      {
        absent: 'no password',
      },
    ),
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
    .meta(about('0.2', 10_000, 'How long one statement may take.')),
  connectTimeoutMs: z
    .int()
    .min(100)
    .max(60_000)
    .default(2000)
    .meta(about('0.2', 1000, 'How long connecting to one host may take.')),
  listen: z
    .boolean()
    .default(true)
    .meta(
      about(
        '0.2',
        false,
        'Whether changes are told to the other servers at once: one connection more, never through a pooler of transactions.',
      ),
    ),
  migrate: z
    .enum(['auto', 'manual'])
    .default('auto')
    .meta(about('0.2', 'manual', '`manual`: the schema is brought up to date by `signet store migrate` only.')),
});

export const storeSchema = z.strictObject({
  kind: z
    .enum(['sqlite', 'postgres'])
    .default('sqlite')
    .meta(
      about('0.2', 'postgres', 'A file of SQLite in `dataDir`, or a PostgreSQL database that several servers share.'),
    ),
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
        'How often the store is asked for changes that other processes made. Most are heard of sooner: from processes of the same machine with SQLite, over `store.postgres.listen` with PostgreSQL.',
      ),
    ),
});

export const bundlesSchema = z.strictObject({
  lifetimeSeconds: seconds(3600, 90 * day)
    .default(7 * day)
    .meta(
      about('0.1', 14 * day, 'Life of a policy bundle: how long a host decides without having heard of the server.'),
    ),
  maxAgeSeconds: seconds(0, 3600)
    .default(30)
    .meta(about('0.1', 60, 'How long a cache may answer a bundle without asking again.')),
});

export const keysSchema = z.strictObject({
  maxAgeSeconds: seconds(0, day)
    .default(300)
    .meta(about('0.1', 600, 'How long a cache may keep the public keys.')),
  prepublishSeconds: seconds(0, 30 * day)
    .default(3600)
    .meta(about('0.1', 7200, 'How long a new key is published before it signs.')),
  rotateEverySeconds: seconds(day, 3650 * day)
    .optional()
    .meta(
      about('0.2', 90 * day, 'How long a key signs before the servers replace it by themselves.', {
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
    about(
      '0.2',
      '/etc/signet/sealing.key',
      '32 random bytes, as they are or in base64; the same for every server of the store.',
      {
        absent: 'no keys can be sealed',
      },
    ),
  ),
  previousSealingKeyFiles: z
    .array(pathSchema)
    .max(8)
    .default([])
    .meta(
      about(
        '0.2',
        ['/etc/signet/sealing-2025.key'],
        'Earlier sealing keys, which open what `signet keys reseal` has not sealed with the present one yet.',
      ),
    ),
});
