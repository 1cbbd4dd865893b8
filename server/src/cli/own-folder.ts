import { lstatSync, realpathSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { UsageError } from './usage-error.ts';

/* Trust in a folder by its writers: with the files of a server, or with its keys, they can impersonate the server. */

/** Windows knows neither owners nor modes of this kind. */
const self = process.getuid?.();

/** Refuses a folder (or a link to one) that is there, of another user or writable by others. Throws `UsageError`. */
export function refuseOthersFolder(folder: string, help: string): void {
  const stats = lstatSync(folder, { throwIfNoEntry: false });
  if (stats === undefined || self === undefined) return;
  const target = stats.isSymbolicLink() ? statSync(folder, { throwIfNoEntry: false }) : stats;
  if (stats.uid !== self || (target !== undefined && target.uid !== self)) {
    throw new UsageError(`folder \`${folder}\` belongs to another user: ${help}`);
  }
  if (target !== undefined && (target.mode & 0o022) !== 0) {
    throw new UsageError(`folder \`${folder}\` is writable by other users: its mode must be 0700`);
  }
}

/**
 * Refuses a place where another user could swap a new folder: each folder on the way, and each link, must belong to this user or to root, and
 * may be writable by others only when its sticky bit keeps them from renaming what is not theirs. Throws `UsageError`.
 */
export function refuseSwappablePlace(folder: string): void {
  if (self === undefined) return;
  const parents = pathsAbove(folder);
  const nearest = parents.find((path) => lstatSync(path, { throwIfNoEntry: false }) !== undefined) ?? '/';
  const real = realpathSync(nearest);
  for (const path of [...parents, real, ...pathsAbove(real)]) {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) continue;
    if (stats.uid !== self && stats.uid !== 0) {
      throw new UsageError(`\`${path}\` above the folder belongs to another user: choose another folder`);
    }
    if (isOpen(stats)) {
      throw new UsageError(
        `folder \`${path}\` is writable by other users, who could replace its files: run chmod go-w, or choose another folder`,
      );
    }
  }
}

/** True if others may write. A group with the number of the user, as most systems make them, has no other member. */
function isOpen(stats: Stats): boolean {
  const isOwnGroup = stats.gid === self && stats.uid === self && process.getgid?.() === stats.gid;
  const open = isOwnGroup ? 0o002 : 0o022;
  return !stats.isSymbolicLink() && (stats.mode & open) !== 0 && (stats.mode & 0o1000) === 0;
}

/** Every folder above a path, the nearest first. */
function pathsAbove(path: string): string[] {
  const above = dirname(path);
  return above === path ? [] : [above, ...pathsAbove(above)];
}
