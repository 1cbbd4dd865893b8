import type { DomainName } from '@signet/policy-engine/names';
import type { DocumentProblem } from '../errors.ts';
import type { DomainContent, DomainRecord } from '../model/records.ts';
import type { StoreReader } from '../model/store.ts';
import type { DomainDocument } from './documents/parse-document.ts';
import { byPlace, placeOf } from './documents/places.ts';
import { findNameFaults, lostNames, type NameRules, removalWarnings } from './name-safeguards.ts';
import { findPlantedKeys, type PlantedKeysReader } from './planted-keys.ts';
import { findQuotaFaults, type Quotas } from './quotas.ts';
import { findFaults, lostGroups, usersOf } from './safeguards.ts';

/** How strictly documents are taken. */
export interface DocumentRules extends NameRules {
  /** Whether `*` and prefixes may become members. */
  readonly allowWildcard?: boolean;
  /** Those of the server; absent: there are none but those that a domain has of its own. */
  readonly quotas?: Quotas;
}

/** A domain as a document wants it, and as it is. */
export interface DocumentChange {
  readonly document: DomainDocument;
  readonly before: DomainRecord | undefined;
  readonly after: DomainContent;
}

const noQuotas: Quotas = {
  roles: Number.POSITIVE_INFINITY,
  members: Number.POSITIVE_INFINITY,
  groups: Number.POSITIVE_INFINITY,
  policies: Number.POSITIVE_INFINITY,
  assertions: Number.POSITIVE_INFINITY,
  services: Number.POSITIVE_INFINITY,
  keys: Number.POSITIVE_INFINITY,
};

/**
 * What the rules of the management API refuse of documents, each at its place: wildcard members that were not asked for, the last
 * administrator removed, quotas passed, authority for services with keys of delegates. Only what is new counts.
 */
export async function findRefusals(
  reader: StoreReader,
  changes: readonly DocumentChange[],
  rules: DocumentRules,
  now: number,
): Promise<DocumentProblem[]> {
  const { allowWildcard = false, quotas = noQuotas, ...names } = rules;
  const own = changes.flatMap(({ document: { source }, before, after }) => {
    const faults = findFaults(before, after, { allowWildcard, ...names, now });
    const over = findQuotaFaults(before, after, quotas);
    return [
      ...faults.map(({ path, error }) => source.problem(placeOf(source.value, path), error.message)),
      ...over.map(({ kind, error }) => source.problem(placeOf(source.value, [sectionOf(kind)]), error.message, 'key')),
    ].sort(byPlace);
  });
  return [...own, ...(await plantedKeys(reader, changes)), ...(await nameRefusals(reader, changes, names, now))];
}

/** What gives authority to services with keys of delegates. */
async function plantedKeys(reader: StoreReader, changes: readonly DocumentChange[]): Promise<DocumentProblem[]> {
  const problems: DocumentProblem[] = [];
  const left = leftBy(changes, reader);
  for (const { document, before, after } of changes) {
    for (const { path, error } of await findPlantedKeys(before, after, { reader: left })) {
      problems.push(document.source.problem(placeOf(document.source.value, path), error.message));
    }
  }
  return problems;
}

/** The store as the documents leave it: what one of them makes harmless or dangerous may stand in another. */
function leftBy(changes: readonly DocumentChange[], reader: StoreReader): PlantedKeysReader {
  const contents = new Map<DomainName, DomainContent>(changes.map(({ after }) => [after.name, after]));
  return {
    async excerpt(name, scope) {
      const content = contents.get(name);
      return content === undefined ? await reader.excerpt(name, scope) : { content };
    },
    async delegatedKeys(search) {
      const keys = await reader.delegatedKeys(search);
      return keys.filter(({ domain, service, keyId }) => {
        const own = contents.get(domain);
        const { publicKeys = [] } = own?.services.find(({ name }) => name === service) ?? {};
        return own === undefined || publicKeys.some(({ id, delegated }) => id === keyId && delegated === true);
      });
    },
    async domainsWithMember(search) {
      const stored = await reader.domainsWithMember(search);
      const users = [...contents.values()].filter(({ roles }) =>
        search.names.some((name) => roles.some(hasMember(name))),
      );
      return [...new Set([...stored, ...users.map(({ name }) => name)])];
    },
  };
}

async function nameRefusals(
  reader: StoreReader,
  changes: readonly DocumentChange[],
  rules: NameRules,
  now: number,
): Promise<DocumentProblem[]> {
  const others = new Map(changes.map(({ after }) => [after.name, after]));
  const problems: DocumentProblem[] = [];
  for (const { document, before, after } of changes) {
    const { source } = document;
    for (const { path, error } of await findNameFaults(before, after, { ...rules, now, reader, others })) {
      problems.push(source.problem(placeOf(source.value, path), error.message));
    }
  }
  return problems;
}

/** The part of a document that holds what a quota counts. */
function sectionOf(kind: keyof Quotas): string {
  if (kind === 'members') return 'roles';
  if (kind === 'assertions') return 'policies';
  return kind === 'keys' ? 'services' : kind;
}

/** What becomes of the entries of other domains that name what the documents remove: they go with it, or stay and grant nothing. */
export function findElsewhere(
  reader: StoreReader,
  changes: readonly DocumentChange[],
  { removeMemberships = false }: NameRules,
): Promise<DocumentProblem[]> {
  return removeMemberships ? findRemovals(reader, changes) : findDangling(reader, changes);
}

async function findRemovals(reader: StoreReader, changes: readonly DocumentChange[]): Promise<DocumentProblem[]> {
  const others = new Map<DomainName, DomainContent>(changes.map(({ after }) => [after.name, after]));
  const problems: DocumentProblem[] = [];
  for (const { document, before, after } of changes) {
    for (const { name, text } of await removalWarnings(reader, after.name, lostNames(before, after), { others })) {
      const path = placeOf(document.source.value, [name.includes(':') ? 'groups' : 'services']);
      problems.push(document.source.problem(path, text, 'key'));
    }
  }
  return problems;
}

async function findDangling(reader: StoreReader, changes: readonly DocumentChange[]): Promise<DocumentProblem[]> {
  const contents = new Map<DomainName, DomainContent>(changes.map(({ after }) => [after.name, after]));
  const problems: DocumentProblem[] = [];
  for (const { document, before, after } of changes) {
    for (const group of lostGroups(before, after)) {
      const users = await usersOf(reader, after.name, group);
      const user = users.find((name) => contents.get(name)?.roles.some(hasMember(group)) ?? true);
      if (user === undefined) continue;
      const message = `group \`${group}\` is missing: domain \`${user}\` has a role with it, which grants nothing then`;
      problems.push(document.source.problem(placeOf(document.source.value, ['groups']), message, 'key'));
    }
  }
  return problems;
}

function hasMember(name: string) {
  return (role: DomainContent['roles'][number]) => role.members.some((member) => member.name === name);
}
