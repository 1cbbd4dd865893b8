import { dirname, join } from 'node:path';
import { bundleSuffix, domainFileName, replaceFile, temporaryName } from '@signet/policy-engine/internal/files';
import type { DomainName } from '@signet/policy-engine/names';
import { systemCode, UpdaterError } from '../updater-errors.ts';
import type { FileFacts, FileSystem } from './file-system.ts';

/** Names of the files beside the bundles. */
export const fileNames = {
  keys: 'keys.json',
  state: 'state.json',
  status: 'status.json',
  domains: 'domains.json',
} as const;

/** Name of a domain's bundle. A domain name holds no separator and does not begin with a dot. */
export function bundleName(domain: DomainName): string {
  return domainFileName(domain, bundleSuffix);
}

const [groupWritable, worldWritable, setGroup] = [0o020, 0o002, 0o2000];

/** Users other than the owner that may write; undefined for none. */
function otherWriters({ mode }: FileFacts): string | undefined {
  if ((mode & worldWritable) !== 0) return 'everyone';
  return (mode & groupWritable) !== 0 ? 'its group' : undefined;
}

function oddFile(name: string): string {
  return `holds \`${name}\`, which is not a plain file`;
}

/** The directory that the updater writes and the policy engine reads. Every failure is an `UpdaterError`. */
export class PolicyDirectory {
  readonly path: string;
  readonly #files: FileSystem;
  readonly #uid: number | undefined;
  /** Files can be read by whom the directory can be read by. */
  #fileMode = 0o644;

  /** `uid`: the user that must own the directory; not checked where users have no numbers. */
  constructor(path: string, files: FileSystem, uid: number | undefined) {
    this.path = path;
    this.#files = files;
    this.#uid = uid;
  }

  /** Makes the directory when there is none, and refuses one that others could plant files in. */
  async prepare(): Promise<void> {
    await this.#guard('make', async () => this.#files.makeDirectory(this.path, await this.#modeOfNew()));
    await this.check();
  }

  /** Throws `unsafe-directory` unless only its owner, who we are, can write to it and to its JSON files, which are plain files. */
  async check(): Promise<void> {
    const facts = await this.#guard('look at', () => this.#files.facts(this.path));
    if (facts === undefined) throw this.#unsafe('does not exist: a run of the updater creates it');
    if (!facts.isDirectory) throw this.#unsafe('is not a directory, or is a symbolic link to one');
    this.#checkOwner(facts);
    this.#fileMode = 0o600 | (facts.mode & 0o044);
    for (const name of Object.values(fileNames)) {
      const found = await this.#guard('look at', () => this.#files.facts(join(this.path, name)));
      if (found === undefined) continue;
      if (!found.isFile) throw this.#unsafe(oddFile(name));
      const writers = otherWriters(found);
      if (writers !== undefined) throw this.#unsafe(`holds \`${name}\`, which can be written by ${writers}`);
    }
  }

  /** True if there is an entry of that name. */
  async has(name: string): Promise<boolean> {
    return (await this.#guard('look at', () => this.#files.facts(join(this.path, name)))) !== undefined;
  }

  /** Throws `unsafe-file` when there is something of that name that is not a plain file. */
  async checkFile(name: string): Promise<void> {
    if (!(await this.#isOdd(name))) return;
    throw new UpdaterError('unsafe-file', `policy directory \`${this.path}\` ${oddFile(name)}`);
  }

  /** Mode of a new file: in a volume that a group shares, only that group may read it; elsewhere every service of the host. */
  async #modeOfNew(): Promise<number> {
    const parent = await this.#files.facts(dirname(this.path));
    if (parent === undefined || !parent.isDirectory || (parent.mode & groupWritable) === 0) return 0o755;
    // the group of the volume goes to what is made in it, where the volume says so
    return 0o750 | (parent.mode & setGroup);
  }

  #checkOwner(facts: FileFacts): void {
    if (this.#uid !== undefined && facts.uid !== this.#uid) throw this.#unsafe('belongs to another user');
    const writers = otherWriters(facts);
    if (writers === undefined) return;
    throw this.#unsafe(
      `can be written by ${writers}${writers === 'everyone' ? '' : '; give the name of a folder in it, which the updater makes for itself'}`,
    );
  }

  async #isOdd(name: string): Promise<boolean> {
    const facts = await this.#guard('look at', () => this.#files.facts(join(this.path, name)));
    return facts !== undefined && !facts.isFile;
  }

  #unsafe(what: string): UpdaterError {
    return new UpdaterError('unsafe-directory', `policy directory \`${this.path}\` ${what}`);
  }

  async list(): Promise<readonly string[]> {
    return this.#guard('list', () => this.#files.list(this.path));
  }

  /** Removes what an earlier run left when it was killed. INVARIANT: only while the lock is held and nothing is written. */
  async removeLeftovers(): Promise<void> {
    for (const name of await this.list()) {
      if (temporaryName.test(name)) await this.#guard('clean', () => this.#files.remove(join(this.path, name)));
    }
  }

  /** The content of a file, `undefined` when there is none. Throws `storage` when it is larger than `limit` bytes. */
  async read(name: string, limit: number): Promise<Buffer | undefined> {
    return this.#guard(`read \`${name}\` in`, async () => {
      const file = await this.#files.openToRead(join(this.path, name)).catch((error: unknown) => {
        if (systemCode(error) === 'ENOENT') return undefined;
        throw error;
      });
      if (file === undefined) return undefined;
      try {
        return await file.read(limit);
      } finally {
        await file.close();
      }
    });
  }

  /** The text of a file, `undefined` when there is none. A file larger than `limit` bytes is read as empty, which no reader accepts. */
  async readText(name: string, limit: number): Promise<string | undefined> {
    try {
      return (await this.read(name, limit))?.toString('utf8');
    } catch (error) {
      if (error instanceof UpdaterError && error.cause instanceof RangeError) return '';
      throw error;
    }
  }

  /** Replaces a file in one step. What is not a plain file is not replaced: `unsafe-file`. */
  async write(name: string, bytes: Uint8Array): Promise<void> {
    await this.checkFile(name);
    const path = join(this.path, name);
    const options = { mode: this.#fileMode, calls: this.#files.newFile() };
    await this.#guard(`write \`${name}\` in`, () => replaceFile(path, bytes, options));
  }

  /** Removes a file, where there is one. What is not a plain file is not removed: `unsafe-file`. */
  async remove(name: string): Promise<void> {
    await this.checkFile(name);
    if (await this.has(name)) await this.#guard('clean', () => this.#files.remove(join(this.path, name)));
  }

  async #guard<Result>(what: string, act: () => Promise<Result>): Promise<Result> {
    try {
      return await act();
    } catch (cause) {
      if (cause instanceof UpdaterError) throw cause;
      const code = systemCode(cause) ?? (cause instanceof RangeError ? 'too large' : 'failed');
      throw new UpdaterError('storage', `cannot ${what} policy directory \`${this.path}\` (${code})`, { cause });
    }
  }
}
