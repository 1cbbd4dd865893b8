import { didYouMean } from '@signet/policy-engine/internal/nearest';
import type { DomainName } from '@signet/policy-engine/names';
import type { DocumentProblem } from '../../errors.ts';
import type { DomainContent } from '../../model/records.ts';
import { type KnownServices, missingService, serviceOf } from '../member-warnings.ts';
import type { CaseFile, PolicyCase } from './case-file.ts';
import { maxProblems } from './places.ts';
import type { FieldPath } from './yaml-source.ts';

/** Names that cases may refer to. */
interface CaseWorld extends KnownServices {
  readonly after: ReadonlyMap<DomainName, DomainContent>;
}

interface Stranger {
  readonly path: FieldPath;
  readonly message: string;
}

/** The domains of services that cases ask about. */
export function askedDomains(files: readonly CaseFile[]): ReadonlySet<DomainName> {
  const cases = files.flatMap((file) => file.cases);
  return new Set(
    cases.flatMap(({ subject }) => (subject.kind === 'principal' ? (serviceOf(subject.principal)?.domain ?? []) : [])),
  );
}

/**
 * The principals and roles of cases that do not exist, and `unknown` where they do: a case that expects a denial would pass with any name.
 * Pure.
 */
export function caseWarnings(files: readonly CaseFile[], world: CaseWorld): readonly DocumentProblem[] {
  if (files.length === 0) return [];
  const users = namedUsers(world.after);
  return files.flatMap(({ source, cases }) => {
    let hints = maxProblems;
    return cases.flatMap((policyCase) => {
      const strangers = strangersOf(policyCase, world, { users, hints: hints > 0 });
      hints -= strangers.length;
      const { index, unknown } = policyCase;
      if (!unknown) return strangers.map(({ path, message }) => source.problem(path, message));
      if (strangers.length > 0) return [];
      return [source.problem([index, 'unknown'], 'all names in the test exist: remove `unknown`')];
    });
  });
}

interface Naming {
  readonly users: readonly string[];
  /** True to suggest similar names. */
  readonly hints: boolean;
}

function strangersOf({ subject, domain, index }: PolicyCase, world: CaseWorld, { users, hints }: Naming): Stranger[] {
  if (subject.kind === 'roles') {
    const known = world.after.get(domain)?.roles.map(({ name }) => name);
    if (known === undefined) return [];
    return subject.roles.flatMap((role, at): Stranger[] => {
      if (known.includes(role)) return [];
      const hint = hints ? didYouMean(role, known) : '';
      return [{ path: [index, 'roles', at], message: `domain \`${domain}\` has no role \`${role}\`${hint}` }];
    });
  }
  const { principal } = subject;
  const message = principal.startsWith('user.')
    ? mistypedUser(principal, users, hints)
    : missingService(principal, world, hints);
  return message === undefined ? [] : [{ path: [index, 'principal'], message }];
}

/** Users are registered nowhere: one that no role names is a mistake only where one of nearly the same name has one. */
function mistypedUser(principal: string, users: readonly string[], hints: boolean): string | undefined {
  if (!hints || users.includes(principal)) return undefined;
  const hint = didYouMean(principal, users);
  return hint === '' ? undefined : `no role or group names \`${principal}\`${hint}`;
}

function namedUsers(after: ReadonlyMap<DomainName, DomainContent>): readonly string[] {
  const lists = [...after.values()].flatMap(({ roles, groups }) => [...roles, ...groups]);
  const names = lists.flatMap(({ members }) => members.map(({ name }) => name));
  return [...new Set(names.filter((name) => name.startsWith('user.')))];
}
