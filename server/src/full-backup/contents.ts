import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { parseDocument } from 'yaml';
import { explainConfig, type ServerConfig } from '../config/config.ts';
import { fileOptionsOf } from '../config/file-options.ts';

/** A file on this machine, and where it is in a complete backup. */
interface BackedUpFile {
  readonly path: string;
  readonly name: string;
}

interface BackupContents {
  /** The configuration in force, with paths as they are in the backup. */
  readonly configuration: string;
  readonly files: readonly BackedUpFile[];
  /** The folder of the store, as the configuration in the backup has it. */
  readonly dataDir: string;
}

/** The name of the configuration in a backup. */
export const configurationName = 'signet.yaml';

/** Folders beside the configuration without being named by it. */
const foldersBeside = ['policies'];

/**
 * Files that a server needs beside its store: the configuration, every file that it names, the keys, and the documents beside it. Files that lie
 * elsewhere than in the folder of the configuration get a place in the backup, so that what is restored stands alone in its folder. The key of
 * the root is no part of it unless an option names it: it belongs elsewhere.
 */
export function contentsOf(config: ServerConfig): BackupContents {
  const home = dirname(config.file);
  const document = parseDocument(readFileSync(config.file, 'utf8'));
  const files = new Map<string, string>();
  const nameOf = (path: string): string => {
    const known = files.get(path);
    if (known !== undefined) return known;
    const inside = relative(home, path);
    const name = isInside(inside) ? inside : join('files', `${files.size + 1}-${basename(path)}`);
    files.set(path, name);
    return name;
  };
  for (const { option, value, from } of explainConfig(config)) {
    // A restored server may have another environment.
    if (from === 'environment') document.setIn(option.split('.'), value);
  }
  for (const option of fileOptionsOf(document.toJS())) {
    document.setIn(option.at, nameOf(resolve(home, option.value)));
  }
  const inside = relative(home, config.dataDir);
  const dataDir = isInside(inside) ? inside : 'data';
  document.setIn(['dataDir'], dataDir);
  const keys = filesBelow(config.keysDir).map((path) => ({
    path,
    name: join(dataDir, 'keys', relative(config.keysDir, path)),
  }));
  const beside = foldersBeside.flatMap((folder) => filesBelow(join(home, folder)));
  for (const path of beside) nameOf(path);
  const named = [...files].map(([path, name]) => ({ path, name }));
  return { configuration: document.toString(), files: [...named, ...keys], dataDir };
}

function isInside(path: string): boolean {
  return path !== '' && !isAbsolute(path) && path.split(sep)[0] !== '..';
}

/** Regular files below a folder, without hidden ones and links. */
function filesBelow(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
}
