import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { maxBundleBytes, refuseSuccessor } from '../bundle/index.ts';
import type { Clock } from '../clock.ts';
import type { PolicySet } from '../engine/policy-set.ts';
import { PolicyEngineError, type PolicyEngineErrorCode } from '../errors.ts';
import type { KeySource } from '../keys/index.ts';
import type { DomainName } from '../names/index.ts';
import { type OnError, reportFault } from '../on-error.ts';
import { BundleFiles, bundleFileName } from './bundle-file.ts';
import { DirectoryKeys } from './directory-keys.ts';
import type { FloorFile } from './floor-file.ts';
import { Floors } from './floors.ts';
import { KeyRevision } from './key-revision.ts';
import { type LoadedBundle, loadBundle } from './load-bundle.ts';
import { otherWriters, readRegularFile } from './read-file.ts';
import { Watch } from './watch.ts';

export interface DirectoryOptions {
  /** The directory that the updater writes: `<domain>.pol`, `keys.json`, `state.json`. */
  policyDir: string;
  /** Interval of scans without a file event, in milliseconds. Default 15,000. */
  rescanIntervalMs?: number;
  /**
   * Follow file events, and notice within seconds when another directory is in its place. Default true; without it changes are seen
   * at the next look only.
   */
  watch?: boolean;
  /** RSA keys of `keys.json` with fewer bits are left out. Default and least: 2048. */
  minRsaBits?: number;
  /**
   * Accepts also bundles of a genuine Athenz server, in its JWS form: ordered by `modified`, signed with ES256 or RS256, and a missing effect in
   * them is ALLOW. A bundle of a Signet server is verified as ever, and none of Athenz follows it. Default false.
   */
  athenzBundles?: boolean;
  /** Called for every file that could not be used. An exception is ignored. */
  onError?: OnError;
}

interface OpenDirectoryOptions extends DirectoryOptions {
  readonly clock: Clock;
  /** True if the common floors are compared with bundles of other directories or written: each bundle then comes with its digest. */
  readonly needsDigests: boolean;
}

/** Error of a file that could not be loaded, and its time (milliseconds since the epoch). */
export interface FileError {
  readonly error: PolicyEngineError;
  readonly at: number;
}

/** State of one file that is in force or in error. */
interface FileState {
  readonly domain: DomainName;
  identity: string | undefined;
  error: FileError | undefined;
}

/** Interval of scans: without events, as on network file systems, a change is in force within half a minute. */
const rescanIntervalMs = 15_000;

/** Faults that may pass without a change of the file: it is read again at every look. */
const mayPass: ReadonlySet<PolicyEngineErrorCode> = new Set([
  'bundle-not-yet-valid',
  'bundle-expired',
  'bundle-key-unknown',
  'bundle-unreadable',
  'keys-unavailable',
]);

/** A directory may lag behind another one: its bundle is kept and not in force, as long as a newer one is. */
export const lags: ReadonlySet<PolicyEngineErrorCode> = new Set(['bundle-rollback', 'bundle-issued-earlier']);

/** Policy set that follows a directory of bundles. A bad file never replaces a good one, a removed one is gone. */
export class PolicyDirectory {
  readonly #options: OpenDirectoryOptions;
  readonly #clock: Clock;
  readonly #ownKeys: DirectoryKeys;
  readonly #keys: KeySource;
  readonly #keyRevision: KeyRevision;
  readonly #floors: Floors;
  /** Floors of all directories, kept over restarts. */
  readonly #commonFloors: Pick<FloorFile, 'of'>;
  readonly #bundleFiles: BundleFiles;
  readonly #files = new Map<string, FileState>();
  readonly #listeners = new Set<(set: PolicySet) => void>();
  readonly #issuerListeners = new Set<() => void>();
  readonly #lookListeners = new Set<() => void>();
  #bundles: ReadonlyMap<string, LoadedBundle> = new Map();
  #watch: Watch | undefined;
  #scanned: number | undefined;
  #error: PolicyEngineError | undefined;

  private constructor(options: OpenDirectoryOptions, keys: KeySource | undefined, commonFloors: Pick<FloorFile, 'of'>) {
    this.#options = options;
    this.#clock = options.clock;
    this.#bundleFiles = new BundleFiles(options.policyDir);
    this.#ownKeys = new DirectoryKeys(options.policyDir, { minRsaBits: options.minRsaBits });
    this.#keys = keys ?? this.#ownKeys;
    this.#keyRevision = new KeyRevision(this.#keys);
    this.#floors = new Floors(options.policyDir);
    this.#commonFloors = commonFloors;
  }

  /**
   * Loads what is there and follows the directory. Throws `keys-unavailable` when no keys are given and none are there,
   * `directory-unsafe` when others than its owner may write to it.
   */
  static async open(
    options: OpenDirectoryOptions,
    keys: KeySource | undefined,
    commonFloors: Pick<FloorFile, 'of'>,
  ): Promise<PolicyDirectory> {
    const directory = new PolicyDirectory(options, keys, commonFloors);
    if ((await directory.#protectedPath()) === undefined) throw directory.#error;
    await directory.#ownKeys.refresh();
    if (keys === undefined && directory.#ownKeys.error !== undefined) throw directory.#ownKeys.error;
    directory.#watch = await Watch.start(options.policyDir, {
      scan: () => directory.#look(),
      intervalMs: options.rescanIntervalMs ?? rescanIntervalMs,
      events: options.watch ?? true,
    });
    await directory.scan();
    return directory;
  }

  /** The keys of `keys.json`. */
  get keys(): KeySource {
    return this.#ownKeys;
  }

  get issuers(): readonly string[] {
    return this.#ownKeys.issuer === undefined ? [] : [this.#ownKeys.issuer];
  }

  /** Requires the issuer from now on: keys.json is valid only while it names this one, or none. */
  requireIssuer(issuer: string): void {
    this.#ownKeys.requireIssuer(issuer);
  }

  get set(): PolicySet {
    return this.#bundles;
  }

  get bundles(): ReadonlyMap<string, LoadedBundle> {
    return this.#bundles;
  }

  /** Errors of the domains' bundles that could not be loaded. */
  get errors(): ReadonlyMap<string, FileError> {
    const errors = new Map<string, FileError>();
    for (const [, { domain, error }] of this.#files) if (error !== undefined) errors.set(domain, error);
    return errors;
  }

  get error(): PolicyEngineError | undefined {
    return this.#error ?? this.#keys.error;
  }

  /** Time of the last scan of the directory, in milliseconds since the epoch. */
  get scanned(): number | undefined {
    return this.#scanned;
  }

  onChange(listener: (set: PolicySet) => void): void {
    this.#listeners.add(listener);
  }

  /** Called when keys.json names another issuer. */
  onIssuerChange(listener: () => void): void {
    this.#issuerListeners.add(listener);
  }

  /** Called when the directory was looked at, after `onChange`. */
  onLook(listener: () => void): void {
    this.#lookListeners.add(listener);
  }

  /** Looks at the directory now; resolves when a look that began after this call has ended. */
  async scan(): Promise<void> {
    await this.#watch?.now();
  }

  async close(): Promise<void> {
    await this.#watch?.close();
  }

  async #look(): Promise<void> {
    const path = await this.#protectedPath();
    if (path !== undefined) await this.#scan(path);
    for (const listener of this.#lookListeners) listener();
  }

  /** Scan of everything; all changes come into force together, by one assignment. Scans never overlap. */
  async #scan(path: string): Promise<void> {
    const { issuer } = this.#ownKeys;
    await this.#ownKeys.refresh();
    if (this.#ownKeys.issuer !== issuer) for (const listener of this.#issuerListeners) listener();
    await this.#floors.refresh();
    const names = await this.#list(path);
    if (names === undefined) return;
    const next = new Map(this.#bundles);
    let changed = await this.#dropWithdrawn(next);
    for (const [file] of this.#files) if (!names.has(file)) this.#files.delete(file);
    for (const domain of next.keys()) if (!names.has(bundleFileName(domain))) changed = next.delete(domain);
    for (const [, domain] of names) changed = (await this.#load(path, domain, next)) || changed;
    this.#scanned = this.#clock.now();
    if (!changed) return;
    const gone = [...this.#bundles.keys()].filter((domain) => !next.has(domain));
    this.#bundles = next;
    for (const listener of this.#listeners) listener(next);
    // Of a bundle that is gone only the digest is kept, and not the content that it is made from.
    for (const domain of gone) await this.#floors.withDigest(domain);
  }

  /**
   * Resolved path of the directory, `undefined` if others than its owner can write to it; resolved once, so that a swapped link leads no scan to
   * a directory that was not checked. An unreadable directory is reported elsewhere.
   */
  async #protectedPath(): Promise<string | undefined> {
    const path = await realpath(this.#options.policyDir).catch(() => this.#options.policyDir);
    const facts = await stat(path).catch(() => undefined);
    const writers = facts && otherWriters(facts.mode);
    if (writers === undefined) return path;
    this.#error = new PolicyEngineError(
      'directory-unsafe',
      `the policy directory is not used: ${writers} may write to it; remove that right (\`chmod go-w\`)`,
    );
    return undefined;
  }

  /** Bundle files and their domains. */
  async #list(path: string): Promise<Map<string, DomainName> | undefined> {
    let entries: string[];
    try {
      entries = await readdir(path);
      this.#error = undefined;
    } catch (cause) {
      this.#error = new PolicyEngineError('bundle-unreadable', 'the policy directory cannot be read', { cause });
      return undefined;
    }
    return this.#bundleFiles.among(entries);
  }

  /** A bundle whose key was withdrawn goes; everything that failed is tried again under the new keys. */
  async #dropWithdrawn(next: Map<string, LoadedBundle>): Promise<boolean> {
    const answers = await this.#keyRevision.ask(next, this.#clock.now());
    if (answers === undefined) return false;
    for (const domain of answers.withdrawn) {
      next.delete(domain);
      this.#files.delete(bundleFileName(domain));
    }
    // Bundles without an answer from the source are read again, which reports the failure.
    const failed = new Set(answers.failed.map(bundleFileName));
    for (const [file, state] of this.#files) {
      if (state.error !== undefined || failed.has(file)) state.identity = undefined;
    }
    return answers.withdrawn.length > 0;
  }

  async #load(path: string, domain: DomainName, next: Map<string, LoadedBundle>): Promise<boolean> {
    const file = bundleFileName(domain);
    const state = this.#files.get(file) ?? { domain, identity: undefined, error: undefined };
    this.#files.set(file, state);
    const read = await readRegularFile(join(path, file), maxBundleBytes, state.identity);
    if (read.kind === 'unchanged') return false;
    const now = this.#clock.now();
    try {
      // A listed file that is absent: a link to nowhere, or removed since, which the next scan will find out.
      if (read.kind === 'absent') throw unreadable('it leads nowhere');
      if (read.kind === 'unreadable') throw unreadable(read.problem);
      state.identity = read.identity;
      const { athenzBundles = false, needsDigests } = this.#options;
      const by = { keys: this.#keys, floors: this.#floors, needsDigest: needsDigests, athenzBundles };
      const bundle = await loadBundle(read.bytes, { domain, now, ...by });
      const refusal = refuseSuccessor(bundle.floor, this.#commonFloors.of(domain));
      if (refusal !== undefined && !lags.has(refusal.code)) throw refusal;
      if (isWorse(bundle, next.get(domain), now)) throw expired();
      this.#floors.accept(domain, bundle.floor, bundle.makeDigest);
      next.set(domain, bundle);
      state.error = undefined;
      return true;
    } catch (cause) {
      const error = cause instanceof PolicyEngineError ? cause : unreadable('its content is not valid', cause);
      if (mayPass.has(error.code)) state.identity = undefined;
      if (state.error?.error.message !== error.message) reportFault(this.#options, error, file);
      state.error = { error, at: now };
      return false;
    }
  }
}

/** A bundle past its expiry is taken (and denies), but not in place of one that is still good. */
function isWorse(bundle: LoadedBundle, current: LoadedBundle | undefined, now: number): boolean {
  return bundle.expires <= now && current !== undefined && current.expires > now;
}

function unreadable(problem: string, cause?: unknown): PolicyEngineError {
  return new PolicyEngineError('bundle-unreadable', `bundle cannot be used: ${problem}`, { cause });
}

function expired(): PolicyEngineError {
  return new PolicyEngineError('bundle-expired', 'bundle is past its expiry');
}
