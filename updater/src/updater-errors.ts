/**
 * Error codes of the updater. Only `unsafe-file` and `storage` may concern one domain alone; the others end a command before any domain was
 * looked at.
 *
 * - `configuration`: the configuration, the identity files or the command line cannot be used.
 * - `unsafe-directory`: others could put files into the policy directory, or one of its JSON files is not a plain file.
 * - `unsafe-file`: in the place of a bundle is not a plain file (a symbolic link, a pipe, a folder).
 * - `locked`: another updater uses the policy directory.
 * - `storage`: the disk refused (full, read-only, input/output error).
 */
export type UpdaterErrorCode = 'configuration' | 'unsafe-directory' | 'unsafe-file' | 'locked' | 'storage';

/** Every error that this program throws by itself. `message` may be shown and logged. */
export class UpdaterError extends Error {
  override readonly name = 'UpdaterError';
  readonly code: UpdaterErrorCode;

  constructor(code: UpdaterErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** `code` of an error of the file system, e.g. `ENOSPC`. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
