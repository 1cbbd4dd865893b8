import type { DomainName, PrincipalName, ServiceName } from '@signet/policy-engine/names';
import { emptyDomain } from '../model/empty-domain.ts';
import { defaultsOf } from '../model/fields.ts';
import { recordFields } from '../model/record-fields.ts';
import type { DomainContent, DomainRecord, ServiceRecord } from '../model/records.ts';
import type { StoreReader, SwitchedOff } from '../model/store.ts';
import { compileSnapshot } from '../snapshot/compile-snapshot.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import type { Sees } from './change-rule.ts';
import { askedDomains } from './documents/case-warnings.ts';
import type { DocumentFolder } from './documents/read-folder.ts';
import { memberDomains, memberServices, neededDomains } from './documents/references.ts';
import { serviceOf } from './member-warnings.ts';

/** Part of a store that documents refer to. */
export interface StoredWorld {
  readonly domains: ReadonlyMap<DomainName, DomainRecord>;
  /** The services of domains that have one as a member, or that cases ask about. */
  readonly services: ReadonlyMap<DomainName, ReadonlySet<string>>;
  /** True if a domain that is in neither of them does not exist. */
  readonly isWhole: boolean;
  readonly switchedOff: SwitchedOff;
  /** Predicate: the author of documents may look at an object; absent: at every one. */
  readonly sees?: Sees;
}

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

/**
 * Snapshot that decides about these domains of a store as a server does: services that do not exist hold nothing, whether a role or group names
 * them or they are the principal in question.
 */
export async function decidingSnapshot(
  reader: StoreReader,
  names: Iterable<DomainName>,
  asked: readonly PrincipalName[] = [],
): Promise<Snapshot> {
  const [domains, switchedOff] = [await withNeeded(reader, new Map(), names), await reader.switchedOff()];
  const contents = [...domains.values()];
  const services = [...memberServices(contents), ...asked.flatMap((name) => serviceOf(name) ?? [])];
  const known = await reader.serviceNames([...new Set(services.map(({ domain }) => domain))]);
  const absent = services.filter(({ domain, service }) => known.get(domain)?.has(service) !== true);
  const byDomain = Map.groupBy(absent, ({ domain }) => domain);
  const present = contents.map((record) => {
    const absentHere = byDomain.get(record.name) ?? [];
    return [record.name, withDisabled(record, [...new Set(absentHere.map(({ service }) => service))])] as const;
  });
  return snapshotOf({
    domains: new Map(present),
    switchedOff: {
      // A missing domain has no resources either.
      domains: [...switchedOff.domains, ...[...byDomain.keys()].filter((name) => !known.has(name))],
      services: [...switchedOff.services, ...absent.filter(({ domain }) => known.has(domain))],
    },
  });
}

/** A snapshot that decides as that of the whole store, as far as these domains are concerned. Throws when one cannot be compiled. */
export function snapshotOf({ domains, switchedOff }: Pick<StoredWorld, 'domains' | 'switchedOff'>): Snapshot {
  const records = [...domains.values(), ...placeholders(switchedOff, (name) => domains.has(name))];
  const state = { epoch: 1, counter: 1, head: '' };
  const compiled = compileSnapshot(undefined, { state, domains: records, deleted: [], signingKeys: [], isPart: true });
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

/**
 * The domain after a change, for its impact; none that is new and disabled. INVARIANT: who does not exist holds nothing, as who is disabled.
 * So a service that is gone stands in it as disabled, and one that is new and disabled does not: it held nothing before.
 */
export function comparable(
  after: DomainContent,
  before: Pick<DomainContent, 'services'> | undefined,
): readonly DomainContent[] {
  if (before === undefined && !after.enabled) return [];
  const was = new Set(before?.services.map(({ name }) => name));
  const is = new Set(after.services.map(({ name }) => name));
  const gone = [...was].filter((name) => !is.has(name));
  const left = after.services.filter(({ name, enabled }) => enabled || was.has(name));
  return [withDisabled({ ...after, services: left }, gone)];
}

/** The domain with services that do not exist in it, as disabled ones: that is what their names are good for. */
function withDisabled<Content extends DomainContent>(content: Content, names: readonly ServiceName[]): Content {
  return { ...content, services: [...content.services, ...names.map(offService)] };
}

function offService(name: ServiceName): ServiceRecord {
  return { ...defaultsOf(recordFields.service), name, enabled: false, hosts: [], publicKeys: [] };
}
