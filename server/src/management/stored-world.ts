import type { DomainName } from '@signet/policy-engine/names';
import { emptyDomain } from '../model/empty-domain.ts';
import { defaultsOf } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import type { DomainContent, DomainRecord } from '../model/records.ts';
import type { StoreReader, SwitchedOff } from '../model/store.ts';
import { compileSnapshot } from '../snapshot/compile-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { askedDomains } from './documents/case-warnings.ts';
import type { DocumentFolder } from './documents/read-folder.ts';
import { memberDomains, neededDomains } from './documents/references.ts';

/** As much of a store as documents have to do with. */
export interface StoredWorld {
  readonly domains: ReadonlyMap<DomainName, DomainRecord>;
  /** The services of domains that have one as a member, or that cases ask about. */
  readonly services: ReadonlyMap<DomainName, ReadonlySet<string>>;
  /** Whether a domain that is in neither of them does not exist. */
  readonly isWhole: boolean;
  readonly switchedOff: SwitchedOff;
}

/** Where there is no store. */
export const noStore: StoredWorld = {
  domains: new Map(),
  services: new Map(),
  isWhole: false,
  switchedOff: { domains: [], services: [] },
};

/** The stored domains that the documents replace, refer to or ask about in cases, and those that these need in turn. */
export async function readWorld(reader: StoreReader, { documents, cases }: DocumentFolder): Promise<StoredWorld> {
  const contents = documents.map((document) => document.content);
  const asked = cases.flatMap((file) => file.cases.map((policyCase) => policyCase.domain));
  const own = contents.map(({ name }) => name);
  const domains = await withNeeded(reader, new Map(), [...own, ...neededDomains(contents), ...asked]);
  return {
    domains,
    services: await reader.serviceNames([...memberDomains(contents), ...askedDomains(cases)]),
    isWhole: true,
    switchedOff: await reader.switchedOff(),
  };
}

/** `known`, the domains of these names that exist, and all that their decisions depend on. */
export async function withNeeded(
  reader: StoreReader,
  known: ReadonlyMap<DomainName, DomainRecord>,
  names: Iterable<DomainName>,
): Promise<ReadonlyMap<DomainName, DomainRecord>> {
  const domains = new Map(known);
  const seen = new Set(known.keys());
  for (let wanted = new Set(names); wanted.size > 0; ) {
    const found: DomainRecord[] = [];
    for (const name of wanted) {
      if (seen.has(name)) continue;
      seen.add(name);
      const domain = await reader.domain(name);
      if (domain !== undefined) found.push(domain);
    }
    for (const domain of found) domains.set(domain.name, domain);
    wanted = new Set(neededDomains(found));
  }
  return domains;
}

/** A snapshot that decides as that of the whole store, as far as these domains are concerned. Throws when one cannot be compiled. */
export function snapshotOf({ domains, switchedOff }: Pick<StoredWorld, 'domains' | 'switchedOff'>): Snapshot {
  const records = [...domains.values(), ...placeholders(switchedOff, (name) => domains.has(name))];
  const state = { epoch: 1, counter: 1, head: '' };
  const compiled = compileSnapshot(undefined, { state, domains: records, deleted: [], signingKeys: [] });
  const [problem] = compiled.problems;
  if (problem !== undefined) throw problem.error;
  return compiled.snapshot;
}

/**
 * Domains that stand in a snapshot for those that were not read: closed ones, and the services that are disabled. What they have
 * beside that decides nothing here.
 */
export function placeholders(switchedOff: SwitchedOff, present: (name: DomainName) => boolean): DomainRecord[] {
  const empty = (name: DomainName) => ({ ...emptyDomain(name), policyVersion: 1, policyModified: 0, policies: [] });
  const closed = switchedOff.domains.map((name) => ({ ...empty(name), enabled: false }));
  const isClosed = new Set(switchedOff.domains);
  const services = Map.groupBy(switchedOff.services, ({ domain }) => domain);
  const open = [...services]
    .filter(([name]) => !isClosed.has(name))
    .map(([name, list]) => ({ ...empty(name), services: list.map(({ service }) => offService(service)) }));
  return [...closed, ...open].filter(({ name }) => !present(name));
}

function offService(name: DomainContent['services'][number]['name']): DomainContent['services'][number] {
  return { ...defaultsOf(recordFields.service), name, enabled: false, hosts: [], publicKeys: [] };
}
