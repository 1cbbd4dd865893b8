import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { loadConfig, type ServerConfig } from '../../config/config.ts';
import { ConfigError } from '../../config/config-error.ts';
import { editIssuers, type IssuersEdit } from '../../config/edit-issuers.ts';
import { processEnvironment } from '../../config/env.ts';
import { ConflictError } from '../../errors.ts';
import { UsageError } from '../usage-error.ts';
import { whileAlone } from '../while-alone.ts';

/**
 * Changes the issuers of the configuration file, with `dryRun` only looks whether it could. The change is about those of `config`: throws `ConflictError`
 * when the file names others by now. Throws `ConfigError`, `UsageError`.
 */
export async function changeIssuers(config: ServerConfig, edit: IssuersEdit, dryRun: boolean): Promise<void> {
  const { file, provenance } = config;
  if (provenance.get('certificates.issuers') !== 'file') {
    throw new ConfigError(file, ['certificates.issuers is not set in the file: change it where it is set']);
  }
  const path = realpathSync(file);
  const { uid, mode } = statSync(path);
  // A file of another user would be one of this user afterwards, which the server may not be able to read.
  if (process.getuid !== undefined && uid !== process.getuid()) {
    throw new UsageError(`\`${path}\` belongs to another user: run this as its owner`);
  }
  const edited = () => {
    requireSameIssuers(config);
    return editIssuers(file, readFileSync(path, 'utf8'), edit);
  };
  if (dryRun) edited();
  else await whileAlone(path, () => replaceFile(path, edited(), { mode: mode & 0o777 }));
}

/** An edit names entries by their places, which another command may have changed since they were read. */
function requireSameIssuers({ file, certificates }: ServerConfig): void {
  const now = loadConfig(file, processEnvironment()).certificates.issuers;
  if (isDeepStrictEqual(now, certificates.issuers)) return;
  throw new ConflictError(
    `the issuers in \`${file}\` were changed by another process: run \`signet ca list\`, then try again`,
  );
}

/** A path as the configuration names it: relative to its folder for what is below that. */
export function pathInConfig({ file }: Pick<ServerConfig, 'file'>, path: string): string {
  const within = relative(dirname(file), resolve(path));
  return within.startsWith('..') ? resolve(path) : within;
}
