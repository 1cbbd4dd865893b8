import { watch } from 'chokidar';
import type { Logger } from '../logger.ts';

interface WatchTlsFilesDeps {
  readonly files: readonly string[];
  /** Reloads the files; throws when they cannot be used. */
  readonly reload: () => void;
  readonly logger: Logger;
}

interface TlsFilesWatch {
  reloadNow(): void;
  close(): Promise<void>;
}

/** Interval of checks of the files. */
const lookMs = 1000;
/** Certificate and key are two files: wait until both are written. */
const settleMs = 200;
/** Files that did not fit are tried again, in case that a change was missed. */
const retryMs = 30_000;

/** Reloads a renewed certificate without a restart; a bad one is reported and the old one stays in use. */
export function watchTlsFiles(deps: WatchTlsFilesDeps): TlsFilesWatch {
  let timer: NodeJS.Timeout | undefined;
  function reloadNow(): void {
    clearTimeout(timer);
    try {
      deps.reload();
      deps.logger.info('TLS files taken into use');
    } catch (error) {
      deps.logger.error({ error: String(error) }, 'TLS files cannot be used, the old ones stay in use');
      timer = setTimeout(reloadNow, retryMs).unref();
    }
  }
  function soon(): void {
    clearTimeout(timer);
    timer = setTimeout(reloadNow, settleMs).unref();
  }
  // Links to whole folders are swapped by those who renew in one step; only looking at the files themselves notices that.
  const watcher = watch([...deps.files], {
    ignoreInitial: true,
    persistent: false,
    usePolling: true,
    interval: lookMs,
  });
  for (const event of ['add', 'change'] as const) watcher.on(event, soon);
  watcher.on('error', (error) => deps.logger.error({ error: String(error) }, 'TLS files are not watched'));
  return {
    reloadNow,
    async close() {
      clearTimeout(timer);
      await watcher.close();
    },
  };
}
