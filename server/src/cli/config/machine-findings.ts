import { accessSync, constants, type Stats, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname } from 'node:path';
import type { ServerConfig } from '../../config/config.ts';
import { DomainError } from '../../errors.ts';
import { openStore } from '../../store/open.ts';
import type { Finding } from '../doctor/finding.ts';
import { checkPostgres } from '../doctor/host-checks.ts';
import type { NamedFile } from './file-reader.ts';

/** Findings about secrets that other users of this machine may read. Windows has no modes of this kind. */
export function secretFindings(secrets: readonly NamedFile[]): Finding<string>[] {
  if (process.getuid === undefined) return [];
  return secrets.flatMap(({ option: check, file }): Finding<string>[] => {
    const mode = statsOf(file)?.mode ?? 0;
    const advice = 'set its mode to 0600';
    if ((mode & 0o007) !== 0)
      return [{ check, state: 'failed', found: `\`${file}\` is readable by all users`, advice }];
    if ((mode & 0o070) === 0) return [];
    return [{ check, state: 'warning', found: `\`${file}\` is readable by its group`, advice }];
  });
}

/** Checks that the server could listen; nothing stays open. */
export async function portFindings({ listen, crl }: ServerConfig): Promise<Finding<string>[]> {
  const places = [{ option: 'listen', host: listen.host, port: listen.port }];
  if (crl.listen.port !== undefined)
    places.push({ option: 'crl.listen', host: crl.listen.host, port: crl.listen.port });
  return await Promise.all(places.map(portFinding));
}

const portAdvices: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'name an address of this machine, or 0.0.0.0 or `::` for all of them',
  EACCES: 'take a port from 1024 on, or give the program the capability CAP_NET_BIND_SERVICE',
  ENOTFOUND: 'name an address of this machine',
};

async function portFinding(place: { option: string; host: string; port: number }): Promise<Finding<string>> {
  const { option: check, host, port } = place;
  const code = await listenError(host, port);
  const where = `port ${port} of \`${host}\``;
  if (code === undefined) return { check, state: 'ok', found: `${where} is free` };
  if (code === 'EADDRINUSE') {
    const advice = 'no action if this server is already running; otherwise find the other program (`ss -ltnp`)';
    return { check, state: 'warning', found: `${where} is in use`, advice };
  }
  const advice = portAdvices[code];
  return {
    check,
    state: 'failed',
    found: `${where} cannot be used (${code})`,
    ...(advice !== undefined && { advice }),
  };
}

/** The code of the error that listening ends with; undefined when it works. */
async function listenError(host: string, port: number): Promise<string | undefined> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? 'unknown'));
  server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  return await promise;
}

/** Checks that the store can be reached and has a schema that this program knows. Nothing is created or migrated. */
export async function storeFindings({ store, dataDir, workers }: ServerConfig): Promise<readonly Finding<string>[]> {
  if (store.kind === 'postgres') return [folderFinding(dataDir), ...(await checkPostgres(store, workers))];
  const check = 'store';
  if (statsOf(store.file) === undefined) {
    const advice = '`signet serve` creates it; if a store existed before, restore it (`signet restore`)';
    return [
      folderFinding(dataDir),
      { check, state: 'warning', found: `store \`${store.file}\` does not exist yet`, advice },
    ];
  }
  try {
    const opened = await openStore(store, { readonly: true });
    await opened.close();
    return [folderFinding(dataDir), { check, state: 'ok', found: `\`${store.file}\` can be read` }];
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const advice = 'see this message in docs/guides/when-the-store-fails.md';
    return [folderFinding(dataDir), { check, state: 'failed', found: error.message, advice }];
  }
}

/** Checks that this user may write to the folder, or create it. */
function folderFinding(folder: string): Finding<string> {
  const check = 'dataDir';
  const stats = statsOf(folder);
  if (stats !== undefined && !stats.isDirectory()) {
    return { check, state: 'failed', found: `\`${folder}\` is not a folder`, advice: 'name a folder' };
  }
  const there = stats === undefined ? existingAbove(folder) : folder;
  try {
    accessSync(there, constants.W_OK | constants.X_OK);
  } catch {
    const advice = 'change its owner to the user that runs the server, or run this check as that user';
    return { check, state: 'failed', found: `this user may not write to \`${there}\``, advice };
  }
  const found =
    stats === undefined ? `\`${folder}\` is created at the first start` : `this user may write to \`${folder}\``;
  return { check, state: 'ok', found };
}

function existingAbove(folder: string): string {
  const above = dirname(folder);
  return above === folder || statsOf(above) !== undefined ? above : existingAbove(above);
}

/** Undefined for what is not there, or cannot be looked at. */
function statsOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}
