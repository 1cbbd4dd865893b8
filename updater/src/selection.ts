import { type SignetClient, SignetClientError } from '@signet/client';
import type { Clock } from '@signet/policy-engine/clock';
import type { DomainName } from '@signet/policy-engine/names';
import { bundleName, fileNames, type PolicyDirectory } from './files/policy-directory.ts';
import type { Outcome } from './outcome.ts';
import { followAnswer, readSelected, type SelectedDomains, writeSelected } from './selected-domains.ts';
import { outcomeOf } from './update-domain.ts';
import { UpdaterError } from './updater-errors.ts';

interface SelectionDeps {
  readonly bundles: Pick<SignetClient['bundles'], 'domains'>;
  readonly directory: PolicyDirectory;
  readonly clock: Clock;
  /** How many domains this host takes. */
  readonly maxDomains: number;
  /** Domains that stay, whatever names this host. */
  readonly configured: readonly DomainName[];
}

/** Changes of the selection by one answer. */
export interface SelectionChange {
  readonly added: readonly DomainName[];
  /** Domains that name this host no more, and are kept for a while. */
  readonly leaving: readonly DomainName[];
  readonly removed: readonly DomainName[];
}

interface Answer {
  readonly reader: string;
  readonly domains: readonly DomainName[];
  readonly complete: boolean;
  readonly etag: string | undefined;
}

const noChange: SelectionChange = { added: [], leaving: [], removed: [] };

/**
 * Domains that name this host (`domains: auto`). The list on disk holds until the server, whose identity was checked, answers another one; any
 * failure leaves it as it is.
 */
export class Selection {
  readonly #deps: SelectionDeps;
  #domains: SelectedDomains;
  #last: Answer | undefined;
  #confirmedAt: number | undefined;
  #failure: Exclude<Outcome, { kind: 'updated' | 'unchanged' }> | undefined;
  #problem: string | undefined;

  private constructor(deps: SelectionDeps, domains: SelectedDomains) {
    this.#deps = deps;
    this.#domains = domains;
  }

  /** Starts from `domains.json`, so that the host keeps its domains while the server is away. */
  static async load(deps: SelectionDeps): Promise<Selection> {
    return new Selection(deps, await readSelected(deps.directory));
  }

  get domains(): SelectedDomains {
    return this.#domains;
  }

  /** Failure to update the list. */
  get failure(): Outcome | undefined {
    return this.#failure;
  }

  /** Facts for the status file: time of the last good answer (ms), and the problem for the operator. */
  get facts(): { readonly confirmedAt: number | undefined; readonly problem: string | undefined } {
    return { confirmedAt: this.#confirmedAt, problem: this.#failure?.message ?? this.#problem };
  }

  /** Writes the list into a directory that was put in the place of the one before. Throws `UpdaterError`. */
  async restore(): Promise<void> {
    if (this.#domains.size > 0) await writeSelected(this.#deps.directory, this.#domains);
  }

  /** Asks the server, unless it has just been found `away`. A failure keeps the list. */
  async refresh(away: SignetClientError | undefined, signal?: AbortSignal): Promise<SelectionChange> {
    try {
      if (away !== undefined) throw away;
      await this.#forgetIfTold();
      const change = await this.#follow(await this.#ask(signal));
      this.#failure = undefined;
      return change;
    } catch (error) {
      const outcome = outcomeOf(error);
      if (outcome.kind !== 'updated' && outcome.kind !== 'unchanged') this.#failure = outcome;
      return noChange;
    }
  }

  /** Forgets the list if an operator removed it: the next answer then applies, whatever it is. */
  async #forgetIfTold(): Promise<void> {
    if (this.#domains.size > 0 && !(await this.#deps.directory.has(fileNames.domains))) this.#domains = new Map();
  }

  async #ask(signal: AbortSignal | undefined): Promise<Answer> {
    const etag = this.#last?.etag;
    const answer = await this.#deps.bundles.domains({
      ...(etag !== undefined && { etag }),
      ...(signal !== undefined && { signal }),
    });
    if (answer.kind === 'changed') this.#last = answer;
    if (this.#last === undefined) throw new SignetClientError('response-malformed', 'nothing to be unchanged');
    this.#confirmedAt = this.#deps.clock.now();
    return this.#last;
  }

  async #follow(answer: Answer): Promise<SelectionChange> {
    const { directory, clock, maxDomains } = this.#deps;
    const before = this.#domains;
    const { domains, removed, leftOut, isHeld } = followAnswer(before, answer, clock.now(), maxDomains);
    this.#problem = this.#problemOf(answer, { domains, leftOut, isHeld });
    // In this order: if the program ends in between, they are removed the next time.
    const stuck = await this.#removeBundles(removed);
    const next = new Map([...domains, ...[...stuck.keys()].map((name) => [name, before.get(name)] as const)]);
    if (!isSame(before, next)) await writeSelected(directory, next);
    this.#domains = next;
    for (const error of stuck.values()) throw error;
    const names = [...next.keys()];
    const leaving = names.filter((name) => next.get(name) !== undefined && before.get(name) === undefined);
    return { added: names.filter((name) => !before.has(name)), leaving, removed };
  }

  /** Removes bundles; returns those that cannot be removed: their domains stay. */
  async #removeBundles(domains: readonly DomainName[]): Promise<ReadonlyMap<DomainName, UpdaterError>> {
    const { directory, configured } = this.#deps;
    const stuck = new Map<DomainName, UpdaterError>();
    for (const name of domains) {
      if (configured.includes(name)) continue;
      try {
        await directory.remove(bundleName(name));
      } catch (error) {
        if (!(error instanceof UpdaterError)) throw error;
        stuck.set(name, error);
      }
    }
    return stuck;
  }

  #problemOf(
    { reader }: Answer,
    { domains, leftOut, isHeld }: { domains: SelectedDomains; leftOut: number; isHeld: boolean },
  ): string | undefined {
    const { configured, directory, maxDomains } = this.#deps;
    if (isHeld) {
      return (
        `no domain names \`${reader}\` in \`bundleReaders\` any more: previous ones are kept; if this is intended, remove ` +
        `\`${fileNames.domains}\` in \`${directory.path}\``
      );
    }
    if (leftOut > 0) return `${leftOut} domains that name \`${reader}\` are left out: \`maxDomains\` is ${maxDomains}`;
    if (domains.size > 0 || configured.length > 0) return undefined;
    return `no domain names \`${reader}\` in \`bundleReaders\``;
  }
}

function isSame(one: SelectedDomains, other: SelectedDomains): boolean {
  return one.size === other.size && [...one].every(([name, since]) => other.has(name) && other.get(name) === since);
}
