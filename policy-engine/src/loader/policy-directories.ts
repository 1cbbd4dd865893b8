import type { Clock } from '../clock.ts';
import { PolicyEngineError } from '../errors.ts';
import type { CryptoKey, KeySource } from '../keys/index.ts';
import { reportFault } from '../on-error.ts';
import type { KeyPurpose } from '../wire/index.ts';
import { bundleFileName } from './bundle-file.ts';
import { FloorFile } from './floor-file.ts';
import type { LoadedBundle } from './load-bundle.ts';
import { type DirectoryOptions, type FileError, lags, PolicyDirectory } from './policy-directory.ts';

/** Options of an engine that reads signed policy from the file system. */
export interface DirectoriesOptions extends Omit<DirectoryOptions, 'policyDir'> {
  /**
   * The directory that the updater writes: `<domain>.pol`, `keys.json`, `state.json`; or several of one issuer. A domain
   * that is in more than one of them has its newest bundle.
   */
  policyDir: string | readonly string[];
  /**
   * A file that keeps epoch, version, time of issue and digest of the newest bundle of each domain that was ever in force, so that
   * what may not follow it is refused also after a restart. For directories that something else than the updater fills: its `state.json` does the same. The folder must exist
   * and be writable. Engines with the same `policyDir` may share the file. Default: none.
   */
  floorFile?: string;
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

  get leftOut(): readonly string[] {
    return this.#sources.flatMap(({ leftOut = [] }) => leftOut);
  }

  async find(kid: string, purpose: KeyPurpose): Promise<CryptoKey | undefined> {
    for (const source of this.#sources) {
      const key = await source.find(kid, purpose);
      if (key !== undefined) return key;
    }
    return undefined;
  }
}

/** Policy directories combined into one: the newest bundle of each domain, and never an older one than before. */
export class PolicyDirectories {
  readonly #directories: readonly PolicyDirectory[];
  readonly #options: DirectoriesOptions & { clock: Clock };
  readonly #floors: FloorFile;
  readonly #listeners = new Set<(set: ReadonlyMap<string, LoadedBundle>) => void>();
  /** The keys of the `keys.json` files. */
  readonly keys: KeySource;
  #bundles: ReadonlyMap<string, LoadedBundle>;
  /** Files whose bundle is older than the floor, where no directory has a newer one. */
  #refused: ReadonlyMap<string, FileError> = new Map();

  private constructor(
    directories: readonly PolicyDirectory[],
    floors: FloorFile,
    options: DirectoriesOptions & { clock: Clock },
  ) {
    this.#directories = directories;
    this.#floors = floors;
    this.#options = options;
    const [only, ...others] = directories.map(({ keys }) => keys);
    this.keys = only !== undefined && others.length === 0 ? only : new JoinedKeys(directories.map(({ keys }) => keys));
    this.#bundles = this.#merge();
    for (const directory of directories) {
      directory.onChange(() => this.#publish());
      directory.onLook(() => void floors.save());
    }
  }

  /**
   * Opens every directory. Throws `PolicyEngineError`: `invalid-options` for directories of several issuers when `keys` are not
   * given; `keys-unavailable` when they are not given and a directory has none; `directory-unsafe` when others than its owner
   * may write to a directory.
   */
  static async open(
    options: DirectoriesOptions & { clock: Clock },
    keys: KeySource | undefined,
  ): Promise<PolicyDirectories> {
    const paths = typeof options.policyDir === 'string' ? [options.policyDir] : options.policyDir;
    const { floorFile } = options;
    const floors = await FloorFile.open(floorFile, (error) => reportFault(options, error, floorFile ?? ''));
    const opened: PolicyDirectory[] = [];
    try {
      const needsDigests = paths.length > 1 || floorFile !== undefined;
      for (const policyDir of paths) {
        opened.push(await PolicyDirectory.open({ ...options, policyDir, needsDigests }, keys, floors));
      }
      const directories = new PolicyDirectories(opened, floors, options);
      if (keys === undefined) requireOneIssuer(opened);
      await floors.save();
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

  /** Errors of the domains' bundles that could not be loaded. */
  get errors(): PolicyDirectory['errors'] {
    return new Map([...this.#directories.flatMap(({ errors }) => [...errors]), ...this.#refused]);
  }

  /** Error of a directory, its keys or the floor file. */
  get error(): PolicyEngineError | undefined {
    return this.#directories.find(({ error }) => error !== undefined)?.error ?? this.#floors.error;
  }

  /** Time at which all of them had been scanned, in milliseconds since the epoch. */
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
    await this.#floors.save();
  }

  async close(): Promise<void> {
    await Promise.all(this.#directories.map((directory) => directory.close()));
    await this.#floors.save();
  }

  #publish(): void {
    this.#bundles = this.#merge();
    for (const listener of this.#listeners) listener(this.#bundles);
  }

  #merge(): ReadonlyMap<string, LoadedBundle> {
    const merged = new Map<string, LoadedBundle>();
    const refusals: [domain: string, refusal: PolicyEngineError][] = [];
    for (const { bundles } of this.#directories) {
      for (const [domain, bundle] of bundles) {
        const refusal = this.#floors.accept(domain, bundle.floor);
        if (refusal === undefined) merged.set(domain, bundle);
        else refusals.push([domain, refusal]);
      }
    }
    const refused = new Map<string, FileError>();
    for (const [domain, refusal] of refusals) {
      if (!merged.has(domain) || !lags.has(refusal.code)) refused.set(...this.#refuse(domain, refusal));
    }
    this.#refused = refused;
    return merged;
  }

  /** Error to report for a bundle that may not follow the floor; the same fault is reported once. */
  #refuse(domain: string, error: PolicyEngineError): [domain: string, FileError] {
    const known = this.#refused.get(domain);
    if (known?.error.message === error.message) return [domain, known];
    reportFault(this.#options, error, bundleFileName(domain));
    return [domain, { error, at: this.#options.clock.now() }];
  }
}

/**
 * Requires an issuer when there are several directories: only `iss` tells under which directory's keys a token belongs. Throws
 * `PolicyEngineError('invalid-options')`.
 */
function requireOneIssuer(directories: readonly PolicyDirectory[]): void {
  const [issuer, ...others] = new Set(directories.flatMap(({ issuers }) => issuers));
  if (others.length > 0) {
    throw new PolicyEngineError('invalid-options', 'the policy directories are of several issuers: give `keys`');
  }
  if (issuer === undefined || directories.length === 1) return;
  for (const directory of directories) directory.requireIssuer(issuer);
}
