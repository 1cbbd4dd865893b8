import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { systemCode, UpdaterError } from '../errors.ts';
import type { FileSystem } from './file-system.ts';

const lockName = '.updater.lock';

/** A process, told from a later one that got the same number. */
interface Owner {
  readonly pid: number;
  /** Boot and start time of the process where the system tells them, else empty. */
  readonly started: string;
}

/** Only one updater may write to a policy directory. Dispose it to give the directory back. */
export type DirectoryLock = AsyncDisposable;

async function startOf(pid: number): Promise<string> {
  try {
    const [boot, stat] = await Promise.all([
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
      readFile(`/proc/${pid}/stat`, 'utf8'),
    ]);
    // the name in brackets may hold blanks; the start time is field 22
    return `${boot.trim()}:${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`;
  } catch {
    return '';
  }
}

async function isAlive(owner: Owner): Promise<boolean> {
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    if (systemCode(error) !== 'EPERM') return false;
  }
  return owner.started === '' || owner.started === (await startOf(owner.pid));
}

function parseOwner(text: string): Owner | undefined {
  const [pid = '', started = ''] = text.trimEnd().split(' ');
  return /^[1-9]\d{0,9}$/.test(pid) ? { pid: Number(pid), started } : undefined;
}

async function readOwner(files: FileSystem, path: string): Promise<Owner | 'none' | 'unreadable'> {
  try {
    const file = await files.openToRead(path);
    try {
      return parseOwner((await file.read(1024)).toString('utf8')) ?? 'unreadable';
    } finally {
      await file.close();
    }
  } catch (error) {
    return systemCode(error) === 'ENOENT' ? 'none' : 'unreadable';
  }
}

/** Puts our lock, complete from its first instant, in its place; false when there is one already. */
async function place(files: FileSystem, directory: string, self: Owner): Promise<boolean> {
  const draft = join(directory, `.lock.${randomBytes(8).toString('hex')}.tmp`);
  const file = await files.create(draft, 0o600);
  try {
    await file.write(Buffer.from(`${self.pid} ${self.started}\n`));
  } finally {
    await file.close();
  }
  try {
    await files.link(draft, join(directory, lockName));
    return true;
  } catch (error) {
    if (systemCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await files.remove(draft);
  }
}

/** Takes away the lock of a process that has ended. Two that try at once cannot both take the same one. */
async function clearStale(files: FileSystem, directory: string, stale: Owner | 'unreadable'): Promise<void> {
  const aside = join(directory, `.lock.${randomBytes(8).toString('hex')}.tmp`);
  try {
    await files.rename(join(directory, lockName), aside);
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return;
    throw error;
  }
  const taken = await readOwner(files, aside);
  const same =
    taken === stale ||
    (typeof taken === 'object' &&
      typeof stale === 'object' &&
      taken.pid === stale.pid &&
      taken.started === stale.started);
  // somebody was quicker and this is the new owner's: put it back
  if (!same) await files.link(aside, join(directory, lockName)).catch(() => undefined);
  await files.remove(aside);
}

/** Throws `UpdaterError('locked')` when an updater that is alive uses the directory. */
export async function lockDirectory(directory: string, files: FileSystem): Promise<DirectoryLock> {
  const self: Owner = { pid: process.pid, started: await startOf(process.pid) };
  const path = join(directory, lockName);
  try {
    for (let attempt = 0; attempt < 5; attempt += 1) {
      if (await place(files, directory, self)) {
        return { [Symbol.asyncDispose]: () => files.remove(path).catch(() => undefined) };
      }
      const owner = await readOwner(files, path);
      if (owner === 'none') continue;
      if (owner !== 'unreadable' && (await isAlive(owner))) {
        throw new UpdaterError('locked', `policy directory \`${directory}\` is in use by updater process ${owner.pid}`);
      }
      await clearStale(files, directory, owner);
    }
  } catch (cause) {
    if (cause instanceof UpdaterError) throw cause;
    const code = systemCode(cause) ?? 'failed';
    throw new UpdaterError('storage', `cannot lock policy directory \`${directory}\` (${code})`, { cause });
  }
  throw new UpdaterError('locked', `policy directory \`${directory}\` is being locked by others`);
}
