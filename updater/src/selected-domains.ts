import { formatTimestamp, parseTimestamp } from '@signet/policy-engine/clock';
import { type DomainName, parseDomainName } from '@signet/policy-engine/names';
import { z } from 'zod';
import type { UpdaterConfig } from './config/config.ts';
import { fileNames, type PolicyDirectory } from './files/policy-directory.ts';

/** The domains that named this host, each with the time (ms) since when it does so no more; undefined: it does. */
export type SelectedDomains = ReadonlyMap<DomainName, number | undefined>;

/** Content of `domains.json`. */
export const selectedSchema = z.object({
  domains: z.record(z.string(), z.object({ notNamedSince: z.string().exactOptional() })),
});

const maxFileBytes = 4 << 20;

/** Problem of a host without any domain, where no list of domains has an error of its own. */
export const nothingToFollow = 'no domain to follow: add one to `domains` or to a file in `domainsDir`';

/** Grace period of a domain that does not name this host any more: a day to correct a mistake. Milliseconds. */
const keptFor = 86_400_000;

/** Domains named in the server's answer. */
interface Named {
  readonly domains: readonly DomainName[];
  /** True if the list is complete. */
  readonly complete: boolean;
}

/** Selection that follows from an answer. */
interface Selected {
  readonly domains: SelectedDomains;
  /** Their bundles go. */
  readonly removed: readonly DomainName[];
  /** Named for the first time, and beyond the bound. */
  readonly leftOut: number;
  /** True if the answer names no domain, and everything stays. */
  readonly isHeld: boolean;
}

/**
 * Selection of this host after an answer. A domain leaves when it was not named for a day, by complete answers; an answer without any domain
 * removes none from a host that has some; beyond `maxDomains` the host adds no more. Pure.
 */
export function followAnswer(known: SelectedDomains, named: Named, now: number, maxDomains: number): Selected {
  if (named.domains.length === 0 && known.size > 0) {
    return { domains: known, removed: [], leftOut: 0, isHeld: true };
  }
  const isNamed = new Set(named.domains);
  const domains = new Map<DomainName, number | undefined>();
  const removed: DomainName[] = [];
  for (const [name, since] of known) {
    // A time ahead means that the clock was set back.
    const from = isNamed.has(name) ? undefined : Math.min(since ?? now, now);
    if (from !== undefined && named.complete && now - from >= keptFor) removed.push(name);
    else domains.set(name, named.complete || isNamed.has(name) ? from : since);
  }
  const added = named.domains.filter((name) => !known.has(name));
  const taken = added.slice(0, Math.max(0, maxDomains - domains.size));
  for (const name of taken) domains.set(name, undefined);
  return { domains, removed, leftOut: added.length - taken.length, isHeld: false };
}

/** The domains of the last good answer; none when there is no such file or it cannot be read as one. */
export async function readSelected(directory: PolicyDirectory): Promise<SelectedDomains> {
  const text = await directory.readText(fileNames.domains, maxFileBytes);
  if (text === undefined) return new Map();
  try {
    const { domains } = selectedSchema.parse(JSON.parse(text));
    return new Map(
      Object.entries(domains).map(([name, { notNamedSince }]) => [
        parseDomainName(name),
        notNamedSince === undefined ? undefined : parseTimestamp(notNamedSince),
      ]),
    );
  } catch {
    return new Map();
  }
}

/** Replaces `domains.json` in one step. Throws `UpdaterError`: `storage`, `unsafe-file`. */
export async function writeSelected(directory: PolicyDirectory, selected: SelectedDomains): Promise<void> {
  const domains = Object.fromEntries(
    [...selected].map(([name, since]) => [name, since === undefined ? {} : { notNamedSince: formatTimestamp(since) }]),
  );
  await directory.write(fileNames.domains, Buffer.from(`${JSON.stringify({ domains }, null, 2)}\n`));
}

/** The domains that a host keeps by a configuration and by what is in its directory. */
export async function domainsOf(
  { domains, autoDomains }: Pick<UpdaterConfig, 'domains' | 'autoDomains'>,
  directory: PolicyDirectory,
): Promise<readonly DomainName[]> {
  return autoDomains === true ? allDomains(domains, await readSelected(directory)) : domains;
}

/** All domains that this host keeps: the configured ones, then the selected ones. */
export function allDomains(configured: readonly DomainName[], selected: SelectedDomains): readonly DomainName[] {
  return [...new Set([...configured, ...selected.keys()])];
}
