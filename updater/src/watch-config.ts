import { watch } from 'chokidar';

interface WatchConfigOptions {
  readonly file: string;
  /** Folder with files that belong to the configuration. */
  readonly folder: string | undefined;
  readonly onChange: () => void;
  /** Interval of checks of the files, in milliseconds. Default 2,000. */
  readonly lookMs?: number;
}

/** Several files are often written together. */
const settleMs = 200;

interface ConfigWatch extends AsyncDisposable {
  /** Changes are noticed from then on. */
  readonly ready: Promise<void>;
  /** Follows another folder, or none, of the configuration. */
  follow(folder: string | undefined): void;
}

/** Watches the files of the configuration for changes, in whatever way they were replaced. Keeps no process alive. */
export function watchConfig({ file, folder, onChange, lookMs = 2000 }: WatchConfigOptions): ConfigWatch {
  let timer: NodeJS.Timeout | undefined;
  let followed = folder;
  const soon = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      onChange();
    }, settleMs).unref();
  };
  // Links to whole folders are swapped by those who replace several files in one step; only looking at the files notices that.
  const watcher = watch([file, ...(folder === undefined ? [] : [folder])], {
    ignoreInitial: true,
    persistent: false,
    usePolling: true,
    interval: lookMs,
    depth: 0,
  });
  for (const event of ['add', 'change', 'unlink'] as const) watcher.on(event, soon);
  // If watching fails, SIGHUP still reloads.
  watcher.on('error', () => undefined);
  const ready = new Promise<void>((resolve) => watcher.once('ready', resolve));
  return {
    ready,
    follow(next) {
      if (next === followed) return;
      if (followed !== undefined) watcher.unwatch(followed);
      if (next !== undefined) watcher.add(next);
      followed = next;
    },
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      await watcher.close();
    },
  };
}
