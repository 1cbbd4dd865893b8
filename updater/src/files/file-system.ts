import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, unlink } from 'node:fs/promises';
import { type FileCalls, promisedCalls } from '@signet/policy-engine/internal/files';
import { systemCode } from '../updater-errors.ts';

/** A file that is open to be read. */
interface OpenFile {
  read(limit: number): Promise<Buffer>;
  close(): Promise<void>;
}

/** Metadata of a file from `lstat`. `mode` has the bits of `chmod` and those of the kind. */
export interface FileFacts {
  readonly isFile: boolean;
  readonly isDirectory: boolean;
  readonly uid: number;
  readonly mode: number;
  /** Identity of the file: another file has another one, whatever its name. */
  readonly identity: string;
}

/** The calls to the file system that the updater makes, one by one, so that a test can let any of them fail. */
export interface FileSystem {
  /** The calls that make one new file. */
  newFile(): FileCalls<Promise<void>>;
  /** An existing file to read; a symbolic link is refused. */
  openToRead(path: string): Promise<OpenFile>;
  remove(path: string): Promise<void>;
  /** Facts of the thing itself, not of what a symbolic link points to; `undefined` when there is nothing. */
  facts(path: string): Promise<FileFacts | undefined>;
  list(path: string): Promise<readonly string[]>;
  makeDirectory(path: string, mode: number): Promise<void>;
}

async function openToRead(path: string): Promise<OpenFile> {
  // not blocking, so that a pipe planted in the place of a file cannot stall us
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  return {
    read: async (limit) => {
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of handle.createReadStream({ autoClose: false, end: limit })) {
        const bytes = Buffer.from(chunk);
        size += bytes.length;
        chunks.push(bytes);
      }
      if (size > limit) throw new RangeError(`\`${path}\` is larger than ${limit} bytes`);
      return Buffer.concat(chunks);
    },
    close: () => handle.close(),
  };
}

/** The machine's file system. */
export const nodeFileSystem: FileSystem = {
  newFile: promisedCalls,
  openToRead,
  remove: unlink,
  facts: async (path) => {
    const found = await lstat(path, { bigint: true }).catch((error: unknown) => {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (found === undefined) return undefined;
    const { dev, ino, birthtimeNs, uid, mode } = found;
    const identity = `${dev}:${ino}:${birthtimeNs}`;
    return { isFile: found.isFile(), isDirectory: found.isDirectory(), uid: Number(uid), mode: Number(mode), identity };
  },
  list: (path) => readdir(path),
  makeDirectory: async (path, mode) => {
    const made = await mkdir(path, { recursive: true, mode });
    // the umask must not make it unreadable for the services that read the policy
    if (made !== undefined) await chmod(path, mode);
  },
};
