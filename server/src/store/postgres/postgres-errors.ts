import pg from 'pg';
import {
  ConflictError,
  DomainError,
  StoreReadOnlyError,
  StoreRefusedError,
  StoreUnavailableError,
} from '../../errors.ts';

/** The SQLSTATE of an error of the database; undefined for any other error. */
export function sqlStateOf(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}

/** True for failures by concurrency that may succeed on retry: a deadlock, a failed serialization. */
export function isWorthRepeating(error: unknown): boolean {
  const state = sqlStateOf(error);
  return state === '40001' || state === '40P01';
}

/** True if no connection is left for this one. The others of the pool go on. */
export function isOutOfConnections(error: unknown): boolean {
  return sqlStateOf(error) === '53300';
}

/**
 * True if an error says that the server of this connection is gone, is going, or takes no changes: every host is asked again. Errors that have
 * no SQLSTATE come from the connection.
 */
export function isConnectionLost(error: unknown): boolean {
  if (error instanceof DomainError) return false;
  const state = sqlStateOf(error);
  return state === undefined || /^(08|57P|25006|F0)/.test(state);
}

/** True if the database accepts no writes: a standby, a session that only reads, a full disk. */
export function isReadOnly(error: unknown): boolean {
  return /^(25006|53100)$/.test(sqlStateOf(error) ?? '');
}

/** Obstacles and their messages, by the beginning of the SQLSTATE. */
const obstacles: readonly (readonly [code: RegExp, message: string])[] = [
  [/^55P03/, 'the store is locked by another writer'],
  [/^57014/, 'the database took too long'],
  [/^53300/, 'the database has no connection left'],
  [/^53/, 'the database has no disk space left'],
  [/^40/, 'the store is busy: concurrent changes of the same data'],
  [/^(28|3D|42501)/, 'the database rejected the login of this server'],
  [/^(08|57P)/, 'the database is not reachable'],
];

/** An error of PostgreSQL in the words of the server; others stay as they are. The SQLSTATE goes to the log only. */
export function translateError(error: unknown): unknown {
  if (error instanceof DomainError) return error;
  const state = sqlStateOf(error);
  if (state === undefined) return isDriverError(error) ? unreachable(error) : error;
  const options = { cause: error, detail: { sqlState: state } };
  // A foreign trigger is not part of this schema: its owner must fix it.
  if (/^(22|23)/.test(state)) return new ConflictError('the change conflicts with the stored data', options);
  if (state === '25006') return new StoreReadOnlyError('the database is read-only', options);
  if (state === '53100') return new StoreReadOnlyError('the disk of the database is full', options);
  const message = obstacles.find(([pattern]) => pattern.test(state))?.[1];
  return new StoreUnavailableError(message ?? 'the store cannot be read or written', options);
}

/** Errors of sockets, of TLS and of the driver; a fault of this program stays one. */
function isDriverError(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if (error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError) return false;
  return (
    'code' in error ||
    /^(Connection|Client|Query read timeout|timeout|Cannot use a pool|server|The server)/.test(error.message)
  );
}

function unreachable(error: Error): StoreUnavailableError {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return new StoreUnavailableError(`the database is not reachable${code === undefined ? '' : ` (${code})`}`, {
    cause: error,
  });
}

const refusedAtStart = /^(28|3D|42501|0A)/;
/** TLS: alert of the database about the certificate of this server. */
const notTrusted = /^ERR_SSL_.*_ALERT_/;
/** TLS: a certificate that does not prove the identity of the database. */
const untrusted = /^(ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|CERT_|EPROTO)/;

/** Error for a store that cannot be opened: a cause that only the operator can change is a refusal. Names neither the password nor its file. */
export function refusalOf(error: unknown, where: string): unknown {
  if (error instanceof StoreRefusedError) return error;
  const state = sqlStateOf(error);
  if (state !== undefined && refusedAtStart.test(state)) {
    return new StoreRefusedError('log-in', `database ${where} rejected the login of this server (SQLSTATE ${state})`, {
      cause: error,
    });
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (notTrusted.test(code)) {
    const message = `database ${where} does not trust the certificate of this server (${code}): check \`store.postgres.certificate\``;
    return new StoreRefusedError('log-in', message, { cause: error });
  }
  if (untrusted.test(code)) {
    const message = `the certificate of database ${where} is not trusted (${code}): check \`store.postgres.ca\``;
    return new StoreRefusedError('log-in', message, { cause: error });
  }
  if (code === 'ENOENT' || code === 'EACCES') return fileOrSocket(error, where, code);
  if (error instanceof Error && error.message === 'The server does not support SSL connections') {
    return new StoreRefusedError('log-in', `database ${where} does not support TLS`, { cause: error });
  }
  return translateError(error);
}

function fileOrSocket(error: unknown, where: string, code: string): unknown {
  const path = error instanceof Error && 'path' in error ? ` (\`${String(error.path)}\`)` : '';
  if (error instanceof Error && 'syscall' in error && error.syscall === 'connect') return translateError(error);
  return new StoreRefusedError('log-in', `a file for database ${where} cannot be read: ${code}${path}`, {
    cause: error,
  });
}
