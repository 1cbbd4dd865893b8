import { readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { replaceFile } from '@signet/policy-engine/internal/files';
import type { ServerConfig } from '../../config/config.ts';
import { ConfigError } from '../../config/config-error.ts';
import { editIssuers, type IssuersEdit } from '../../config/edit-issuers.ts';
import { UsageError } from '../usage-error.ts';

/** What the configuration file would be with its issuers changed. Throws `ConfigError`, `UsageError`. */
export function editedConfig({ file, provenance }: ServerConfig, edit: IssuersEdit): { write(): Promise<void> } {
  if (provenance.get('certificates.issuers') !== 'file') {
    throw new ConfigError(file, ['certificates.issuers does not come from the file: change it where it is set']);
  }
  const path = realpathSync(file);
  const { uid, mode } = statSync(path);
  // A file of another user would be one of this user afterwards, which the server may not be able to read.
  if (process.getuid !== undefined && uid !== process.getuid()) {
    throw new UsageError(`\`${path}\` belongs to another user: run this as its owner`);
  }
  const text = editIssuers(file, readFileSync(path, 'utf8'), edit);
  return { write: () => replaceFile(path, text, { mode: mode & 0o777 }) };
}

/** A path as the configuration names it: relative to its folder for what is below that. */
export function pathInConfig({ file }: Pick<ServerConfig, 'file'>, path: string): string {
  const within = relative(dirname(file), resolve(path));
  return within.startsWith('..') ? resolve(path) : within;
}
