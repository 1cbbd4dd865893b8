import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

/** Working directory and program of a command. */
interface Running {
  /** The script of this program. */
  readonly script: string;
  readonly cwd: string;
  readonly path: string;
}

/**
 * Command by which a person at this place runs this program again: `signet` where the shell finds this very program by that name, `npx signet`
 * in a checkout, else by its path. Names of a registry are not used: there, `signet` is another project.
 */
export function commandName({ script, cwd, path }: Running): string {
  const own = realOf(script);
  const leadsHere = (file: string) => own !== undefined && isExecutable(file) && realOf(file) === own;
  const bin = join('node_modules', '.bin');
  // npx and npm add those folders to the path of their scripts, not to that of the shell.
  const folders = path.split(delimiter).filter((folder) => folder !== '' && !folder.endsWith(bin));
  if (folders.some((folder) => leadsHere(join(folder, 'signet')))) return 'signet';
  if (foldersFrom(cwd).some((folder) => leadsHere(join(folder, bin, 'signet')))) return 'npx signet';
  return isExecutable(script) ? quote(script) : `node ${quote(script)}`;
}

function foldersFrom(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersFrom(above)];
}

function realOf(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch {
    return undefined;
  }
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** A word as a shell reads it back. */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
