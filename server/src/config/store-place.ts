import { ConflictError } from '../errors.ts';

/** Place of a PostgreSQL store, and its connection settings: the options `store.postgres`, complete, with absolute paths. */
export interface PostgresSettings {
  /** `host:port`, or the folder of a socket; the one of them that is not a standby is used. */
  readonly hosts: readonly string[];
  readonly database: string;
  readonly user: string;
  readonly passwordFile?: string | undefined;
  /** PEM, to log in with a certificate. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
  /** PEM, what the certificate of the server must chain to. */
  readonly ca?: string | undefined;
  readonly poolSize: number;
  readonly statementTimeoutMs: number;
  readonly connectTimeoutMs: number;
  /** True to notify the other servers of changes at once, over another connection. */
  readonly listen: boolean;
  readonly migrate: 'auto' | 'manual';
}

/** A place to connect to. */
export interface PostgresHost {
  /** Name as configured, for messages. */
  readonly name: string;
  /** A name, an address without brackets, or the folder of a socket. */
  readonly host: string;
  readonly port: number;
  /** True for a database on this machine: nothing in between can listen. */
  readonly isLocal: boolean;
}

const defaultPort = 5432;
const hostPattern = /^(?:\[([0-9a-f:.]+)\]|([^[\]:/\s]+))(?::([0-9]{1,5}))?$/i;
const socketPattern = /^(\/[^:\0]*)(?::([0-9]{1,5}))?$/;

/** Reads `host`, `host:port`, `[address]:port`, `/folder` or `/folder:port`; undefined for anything else. */
export function parseHost(name: string): PostgresHost | undefined {
  const [, folder, socketPort] = socketPattern.exec(name) ?? [];
  if (folder !== undefined) return hostAt(name, folder, socketPort, true);
  const [, address, plain, port] = hostPattern.exec(name) ?? [];
  const host = address ?? plain;
  return host === undefined ? undefined : hostAt(name, host, port, isLoopback(host));
}

function hostAt(name: string, host: string, port: string | undefined, isLocal: boolean): PostgresHost | undefined {
  const number = port === undefined ? defaultPort : Number(port);
  return number >= 1 && number <= 65_535 ? { name, host, port: number, isLocal } : undefined;
}

/** True if a name or an address (without brackets) is that of the own machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

export type StorePlace = SqlitePlace | ({ readonly kind: 'postgres' } & PostgresSettings);

interface SqlitePlace {
  readonly kind: 'sqlite';
  readonly file: string;
}

/** The file of a store of SQLite. Throws `ConflictError` for another one, which says what to do there. */
export function sqliteFileOf(place: StorePlace, instead: string): string {
  if (place.kind === 'sqlite') return place.file;
  throw new ConflictError(`this is for a store of SQLite: ${instead}`);
}
