import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import { systemCode } from '../errors.ts';

/** An open file, as far as it is needed here. */
export interface OpenFile {
  read(limit: number): Promise<Buffer>;
  write(bytes: Uint8Array): Promise<void>;
  chmod(mode: number): Promise<void>;
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** What is known of a file without opening it. `mode` has the bits of `chmod` and those of the kind. */
export interface FileFacts {
  readonly isFile: boolean;
  readonly isDirectory: boolean;
  readonly uid: number;
  readonly mode: number;
  /** Which one it is: another file has another identity, whatever its name. */
  readonly identity: string;
}

/** The calls to the file system that the updater makes, one by one, so that a test can let any of them fail. */
export interface FileSystem {
  /** A new file (O_EXCL, never through a symbolic link). */
  create(path: string, mode: number): Promise<OpenFile>;
  /** An existing file to read; a symbolic link is refused. */
  openToRead(path: string): Promise<OpenFile>;
  openDirectory(path: string): Promise<OpenFile>;
  rename(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** Facts of the thing itself, not of what a symbolic link points to; `undefined` when there is nothing. */
  facts(path: string): Promise<FileFacts | undefined>;
  list(path: string): Promise<readonly string[]>;
  makeDirectory(path: string, mode: number): Promise<void>;
}

async function openFile(path: string, flags: number, mode?: number): Promise<OpenFile> {
  const handle = await open(path, flags, mode);
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
    write: (bytes) => handle.writeFile(bytes),
    chmod: (to) => handle.chmod(to),
    sync: () => handle.sync(),
    close: () => handle.close(),
  };
}

const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY, O_NONBLOCK } = constants;

/** The machine's file system. */
export const nodeFileSystem: FileSystem = {
  create: (path, mode) => openFile(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, mode),
  // not blocking, so that a pipe planted in the place of a file cannot stall us
  openToRead: (path) => openFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK),
  openDirectory: (path) => openFile(path, O_RDONLY),
  rename,
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
