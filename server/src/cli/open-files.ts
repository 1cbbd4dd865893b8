import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerConfig } from '../config/config.ts';
import type { Logger } from '../logger.ts';

/**
 * Warns of the data folder, the folder of keys and key files if users other than their owner may use them. The store itself is refused then; a
 * folder may be set up elsewhere, as with volumes of containers.
 */
export function warnOfOpenFiles({ dataDir, keysDir }: Pick<ServerConfig, 'dataDir' | 'keysDir'>, logger: Logger): void {
  // Windows knows no modes of this kind.
  if (process.getuid === undefined) return;
  for (const path of [dataDir, keysDir, ...filesIn(keysDir)]) {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats === undefined || (stats.mode & 0o077) === 0) continue;
    const want = stats.isDirectory() ? '0700' : '0600';
    logger.warn(
      { path, mode: (stats.mode & 0o777).toString(8) },
      `readable by other users, its mode should be ${want}`,
    );
  }
}

function filesIn(folder: string): string[] {
  try {
    return readdirSync(folder).map((name) => join(folder, name));
  } catch {
    // There are no keys yet.
    return [];
  }
}
