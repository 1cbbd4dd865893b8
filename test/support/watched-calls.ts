import type { FileCalls } from '@signet/policy-engine/internal/files';

/**
 * The calls that report each of them before it is made, as `create catalog.pol` and so on; `named` makes a name of a path, and `before` may throw
 * in the place of the call.
 */
export function watchedCalls<Done>(
  calls: FileCalls<Done>,
  named: (path: string) => string,
  before: (call: string) => void,
): FileCalls<Done> {
  let name = '';
  return {
    create: (path, mode) => {
      name = named(path);
      before(`create ${name}`);
      return calls.create(path, mode);
    },
    write: (content) => {
      before(`write ${name}`);
      return calls.write(content);
    },
    chmod: (mode) => {
      before(`chmod ${name}`);
      return calls.chmod(mode);
    },
    sync: () => {
      before(`sync ${name}`);
      return calls.sync();
    },
    close: () => {
      // closed in any case: a process that ends closes its files
      const done = calls.close();
      before(`close ${name}`);
      return done;
    },
    rename: (from, to) => {
      before(`rename ${named(to)}`);
      return calls.rename(from, to);
    },
    link: (from, to) => {
      before(`link ${named(to)}`);
      return calls.link(from, to);
    },
    remove: (path) => {
      before(`remove ${named(path)}`);
      return calls.remove(path);
    },
    syncDirectory: (path) => {
      before('sync directory');
      return calls.syncDirectory(path);
    },
  };
}
