import { type FileSystem, nodeFileSystem } from '@signet/updater/files/file-system';
import { watchedCalls } from '#support/watched-calls';

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
  return {
    ...nodeFileSystem,
    newFile: () => watchedCalls(nodeFileSystem.newFile(), named, before),
    remove: async (path) => {
      before(`remove ${named(path)}`);
      await nodeFileSystem.remove(path);
    },
  };
}
