import { type FileSystem, nodeFileSystem, type OpenFile } from '@signet/updater/files/file-system';

/** An error as the system makes it. */
export function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}

/**
 * The machine's file system that reports each call that changes something, before it is made, as `create catalog.pol` and so
 * on (temporary names without their random part); `before` may throw in its place.
 */
export function watchedFiles(before: (call: string) => void): FileSystem {
  const named = (path: string) =>
    path
      .slice(path.lastIndexOf('/') + 1)
      .replace(/^\.(.+)\.[0-9a-f]{16}\.tmp$/, '$1')
      .replace(/^\.updater-lock\.db$/, 'lock');
  const watched = (file: OpenFile, name: string): OpenFile => ({
    ...file,
    write: async (bytes) => {
      before(`write ${name}`);
      await file.write(bytes);
    },
    chmod: async (mode) => {
      before(`chmod ${name}`);
      await file.chmod(mode);
    },
    sync: async () => {
      before(`sync ${name}`);
      await file.sync();
    },
    close: async () => {
      // closed in any case: a process that ends closes its files
      await file.close();
      before(`close ${name}`);
    },
  });
  return {
    ...nodeFileSystem,
    create: async (path, mode) => {
      before(`create ${named(path)}`);
      return watched(await nodeFileSystem.create(path, mode), named(path));
    },
    openDirectory: async (path) => {
      before('open directory');
      return watched(await nodeFileSystem.openDirectory(path), 'directory');
    },
    rename: async (from, to) => {
      before(`rename ${named(to)}`);
      await nodeFileSystem.rename(from, to);
    },
    remove: async (path) => {
      before(`remove ${named(path)}`);
      await nodeFileSystem.remove(path);
    },
  };
}
