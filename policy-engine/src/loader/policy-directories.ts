import { type BundleVersion, isOlder } from '../bundle/index.ts';
import type { Clock } from '../clock.ts';
import { PolicyEngineError } from '../errors.ts';
import type { CryptoKey, KeySource } from '../keys/index.ts';
import type { KeyPurpose } from '../wire/index.ts';
import type { LoadedBundle } from './load-bundle.ts';
import { type DirectoryOptions, PolicyDirectory } from './policy-directory.ts';

/** Options of an engine that reads signed policy from the file system. */
export interface DirectoriesOptions extends Omit<DirectoryOptions, 'policyDir'> {
  /**
   * The directory that the updater writes: `<domain>.pol`, `keys.json`, `state.json`; or several of one issuer. A domain
   * that is in more than one of them has its newest bundle.
   */
  policyDir: string | readonly string[];
}

/** The keys of all directories. */
class JoinedKeys implements KeySource {
  readonly #sources: readonly KeySource[];

  constructor(sources: readonly KeySource[]) {
    this.#sources = sources;
  }

  get revision(): number {
    return this.#sources.reduce((sum, { revision }) => sum + (revision ?? 0), 0);
  }

  async find(kid: string, purpose: KeyPurpose): Promise<CryptoKey | undefined> {
    for (const source of this.#sources) {
      const key = await source.find(kid, purpose);
      if (key !== undefined) return key;
    }
    return undefined;
  }
}

/** One or more policy directories as one: of each domain the newest bundle, and never an older one than before. */
export class PolicyDirectories {
  readonly #directories: readonly PolicyDirectory[];
  readonly #floors = new Map<string, BundleVersion>();
  readonly #listeners = new Set<(set: ReadonlyMap<string, LoadedBundle>) => void>();
  /** The keys of the `keys.json` files. */
  readonly keys: KeySource;
  #bundles: ReadonlyMap<string, LoadedBundle>;

  private constructor(directories: readonly PolicyDirectory[]) {
    this.#directories = directories;
    const [only, ...others] = directories.map(({ keys }) => keys);
    this.keys = only !== undefined && others.length === 0 ? only : new JoinedKeys(directories.map(({ keys }) => keys));
    this.#bundles = this.#merge();
    for (const directory of directories) directory.onChange(() => this.#publish());
  }

  /**
   * Opens every directory. Throws `PolicyEngineError`: `invalid-options` for an empty list, and for directories of several
   * issuers when `keys` are not given; `keys-unavailable` when they are not given and a directory has none.
   */
  static async open(
    options: DirectoriesOptions & { clock?: Clock },
    keys: KeySource | undefined,
  ): Promise<PolicyDirectories> {
    const paths = typeof options.policyDir === 'string' ? [options.policyDir] : options.policyDir;
    if (paths.length === 0) throw new PolicyEngineError('invalid-options', '`policyDir` names no directory');
    const opened: PolicyDirectory[] = [];
    try {
      for (const policyDir of paths) opened.push(await PolicyDirectory.open({ ...options, policyDir }, keys));
      const directories = new PolicyDirectories(opened);
      if (keys === undefined && new Set(opened.flatMap(({ issuers }) => issuers)).size > 1) {
        throw new PolicyEngineError('invalid-options', 'the policy directories are of several issuers: give `keys`');
      }
      return directories;
    } catch (error) {
      await Promise.all(opened.map((directory) => directory.close()));
      throw error;
    }
  }

  /** The issuer of the first `keys.json` that names one, as a list of none or one. */
  get issuers(): readonly string[] {
    return this.#directories.find(({ issuers }) => issuers.length > 0)?.issuers ?? [];
  }

  get bundles(): ReadonlyMap<string, LoadedBundle> {
    return this.#bundles;
  }

  /** Files that could not be loaded, by name. */
  get errors(): PolicyDirectory['errors'] {
    return new Map(this.#directories.flatMap(({ errors }) => [...errors]));
  }

  /** Why a directory or its keys could not be read. */
  get error(): PolicyEngineError | undefined {
    return this.#directories.find(({ error }) => error !== undefined)?.error;
  }

  /** When all of them had been looked at, in milliseconds since the epoch. */
  get scanned(): number | undefined {
    const times = this.#directories.flatMap(({ scanned }) => scanned ?? []);
    return times.length < this.#directories.length ? undefined : Math.min(...times);
  }

  onChange(listener: (set: ReadonlyMap<string, LoadedBundle>) => void): void {
    this.#listeners.add(listener);
  }

  /** Called when a keys.json names another issuer. */
  onIssuerChange(listener: () => void): void {
    for (const directory of this.#directories) directory.onIssuerChange(listener);
  }

  /** Looks at all directories now. */
  async scan(): Promise<void> {
    await Promise.all(this.#directories.map((directory) => directory.scan()));
  }

  async close(): Promise<void> {
    await Promise.all(this.#directories.map((directory) => directory.close()));
  }

  #publish(): void {
    this.#bundles = this.#merge();
    for (const listener of this.#listeners) listener(this.#bundles);
  }

  #merge(): ReadonlyMap<string, LoadedBundle> {
    const merged = new Map<string, LoadedBundle>();
    for (const { bundles } of this.#directories) {
      for (const [domain, bundle] of bundles) {
        const floor = this.#floors.get(domain);
        if (floor !== undefined && isOlder(bundle.version, floor)) continue;
        this.#floors.set(domain, bundle.version);
        merged.set(domain, bundle);
      }
    }
    return merged;
  }
}
