import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { runAtOnce } from '../steps/steps.ts';
import { type FileCalls, promisedCalls, syncCalls } from './file-calls.ts';

/** Name pattern of a file that is not complete yet, beside the one that it becomes. */
export const temporaryName: RegExp = /^\..+\.[0-9a-f]{16}\.tmp$/;

/** Options for writing a file. */
export interface AtomicFileOptions<Done> {
  /** Mode of the file, whatever the umask and the mode of a file before it. */
  readonly mode: number;
  /** Default: the file system of the machine. */
  readonly calls?: FileCalls<Done>;
}

/**
 * Replaces the content of a file so that at every instant, also when the machine loses its power, it holds the old content or the new. A link at
 * `path` is replaced, not followed. A failure leaves no temporary file. Throws the error of the file system.
 */
export async function replaceFile(
  path: string,
  content: string | Uint8Array,
  { mode, calls = promisedCalls() }: AtomicFileOptions<Promise<void>>,
): Promise<void> {
  await awaited(writing(calls, path, content, { mode, put: 'rename' }));
}

/** The same where nothing may have this name yet, also no link: throws `EEXIST`. Of several that create a file at once, one does. */
export async function createFile(
  path: string,
  content: string | Uint8Array,
  { mode, calls = promisedCalls() }: AtomicFileOptions<Promise<void>>,
): Promise<void> {
  await awaited(writing(calls, path, content, { mode, put: 'link' }));
}

/** `replaceFile` for those that cannot wait for a promise. */
export function replaceFileSync(
  path: string,
  content: string | Uint8Array,
  { mode, calls = syncCalls() }: AtomicFileOptions<void>,
): void {
  runAtOnce(writing(calls, path, content, { mode, put: 'rename' }));
}

/** `createFile` for those that cannot wait for a promise. */
export function createFileSync(
  path: string,
  content: string | Uint8Array,
  { mode, calls = syncCalls() }: AtomicFileOptions<void>,
): void {
  runAtOnce(writing(calls, path, content, { mode, put: 'link' }));
}

interface Writing {
  readonly mode: number;
  /** Operation that gives the complete file its name: `rename` replaces an existing file, `link` fails. */
  readonly put: 'rename' | 'link';
}

/** The one order of calls. Each is made when it is yielded. */
function* writing<Done>(
  calls: FileCalls<Done>,
  path: string,
  content: string | Uint8Array,
  { mode, put }: Writing,
): Generator<Done, void> {
  const directory = dirname(path);
  const temporary = join(directory, `.${basename(path)}.${randomBytes(8).toString('hex')}.tmp`);
  // an existing file was made by another process, and is left alone
  yield calls.create(temporary, mode);
  try {
    try {
      yield calls.write(content);
      // again, because the umask took part at creation
      yield calls.chmod(mode);
      yield calls.sync();
    } finally {
      yield calls.close();
    }
    yield calls[put](temporary, path);
  } catch (error) {
    yield* removing(calls, temporary);
    throw error;
  }
  if (put === 'link') yield* removing(calls, temporary);
  yield calls.syncDirectory(directory);
}

/** Cleanup after an error or a rename: a remaining temporary file matters less than either. */
function* removing<Done>(calls: FileCalls<Done>, temporary: string): Generator<Done, void> {
  try {
    yield calls.remove(temporary);
  } catch {
    // the first error is the one to tell
  }
}

async function awaited(steps: Generator<Promise<void>, void>): Promise<void> {
  let step = steps.next();
  while (step.done !== true)
    step = await step.value.then(
      () => steps.next(),
      (error) => steps.throw(error),
    );
}
