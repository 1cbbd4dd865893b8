import { resolve } from 'node:path';
import type { Command } from 'commander';
import { configSchema } from '../../config/config-schema.ts';
import type { PostgresSettings } from '../../config/store-place.ts';
import { UsageError } from '../usage-error.ts';

/** The options of a command that say where the database of a new server is. A password has a file, as in the configuration. */
export interface PostgresOptions {
  readonly postgres?: readonly string[];
  readonly postgresDatabase?: string;
  readonly postgresUser?: string;
  readonly postgresPasswordFile?: string;
  readonly postgresCa?: string;
  readonly postgresCert?: string;
  readonly postgresKey?: string;
}

/** The flag of each option of the configuration below `store.postgres`. */
const flags = {
  hosts: '--postgres',
  database: '--postgres-database',
  user: '--postgres-user',
  passwordFile: '--postgres-password-file',
  ca: '--postgres-ca',
  certificate: '--postgres-cert',
  key: '--postgres-key',
} as const;

/** Adds the options to a command. */
export function postgresOptions(command: Command): Command {
  return command
    .option(
      `${flags.hosts} <host...>`,
      'use an empty PostgreSQL database as the store, with sealed keys: host:port, or the folder of a socket',
    )
    .option(`${flags.database} <name>`, 'name of the database (default: signet)')
    .option(`${flags.user} <name>`, 'database user that owns it (default: signet)')
    .option(`${flags.passwordFile} <file>`, 'file with the password of that user; read at each connection, not copied')
    .option(`${flags.ca} <file>`, 'CA certificates for the database server, PEM')
    .option(`${flags.certificate} <file>`, 'client certificate for the database, PEM')
    .option(`${flags.key} <file>`, 'private key of the certificate, PEM');
}

/** Place of the database, with absolute paths; undefined without the options. Throws `UsageError` naming the option. */
export function postgresSettings(options: PostgresOptions): PostgresSettings | undefined {
  const file = (path: string | undefined) => (path === undefined ? undefined : resolve(path));
  const given = {
    hosts: options.postgres,
    database: options.postgresDatabase,
    user: options.postgresUser,
    passwordFile: file(options.postgresPasswordFile),
    ca: file(options.postgresCa),
    certificate: file(options.postgresCert),
    key: file(options.postgresKey),
  };
  if (Object.values(given).every((value) => value === undefined)) return undefined;
  if (given.hosts === undefined) throw new UsageError(`${flags.hosts} is required with the other PostgreSQL options`);
  if ((given.certificate === undefined) !== (given.key === undefined)) {
    throw new UsageError(`${flags.certificate} and ${flags.key} must be used together`);
  }
  const parsed = configSchema.shape.store.safeParse({ kind: 'postgres', postgres: given });
  if (parsed.success) return parsed.data.postgres;
  const [issue] = parsed.error.issues;
  const option = String(issue?.path[1] ?? 'hosts') as keyof typeof flags;
  throw new UsageError(`${flags[option]}: ${issue?.message.replace(/^Invalid input: /, '')}`);
}
