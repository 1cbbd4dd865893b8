import { didYouMean } from '@signet/policy-engine/internal/nearest';
import { foldAscii } from '@signet/policy-engine/names';
import { Work, WorkExceededError } from '@signet/policy-engine/policy';
import { unaskedObjects } from '../../access/authority.ts';
import type { DocumentProblem } from '../../errors.ts';
import type { AssertionRecord } from '../../model/records.ts';
import type { DomainDocument } from './parse-document.ts';
import { coversPattern } from './pattern-covers.ts';
import { assertionPlaces } from './places.ts';
import { formatPath, type YamlSource } from './yaml-source.ts';

/** Pairs of an ALLOW and a DENY of one domain: of more of them nothing is said. */
const maxPairs = 100_000;

/** Work of comparing their patterns, in units of about one compared character: what is found by then is said. */
const maxPatternWork = 20_000_000;

interface PlacedAssertion {
  readonly assertion: AssertionRecord;
  readonly place: readonly PropertyKey[];
}

/** The assertions of the active policies of a document that change no decision. Pure. */
export function assertionWarnings({ source, content }: DomainDocument): readonly DocumentProblem[] {
  const placeOf = assertionPlaces(source.value);
  const placed = content.policies
    .filter(({ active }) => active)
    .flatMap((policy) =>
      policy.assertions.map((assertion, index): PlacedAssertion => {
        return { assertion, place: placeOf(policy, index) };
      }),
    );
  return [
    ...repeated(source, placed),
    ...unasked(source, placed),
    ...assumedByPattern(content, source, placed),
    ...shadowed(source, placed),
  ];
}

function repeated(source: YamlSource, placed: readonly PlacedAssertion[]): DocumentProblem[] {
  const first = new Map<string, PlacedAssertion>();
  return placed.flatMap((one) => {
    const { effect, role, action, resource, conditions } = one.assertion;
    const key = JSON.stringify([effect, role, foldAscii(action), foldAscii(resource), conditions]);
    const same = first.get(key);
    if (same !== undefined) return [source.problem(one.place, `says the same as ${named(source, same)}: remove one`)];
    first.set(key, one);
    return [];
  });
}

/** Assertions for actions of the server on what it never asks about. */
function unasked(source: YamlSource, placed: readonly PlacedAssertion[]): DocumentProblem[] {
  return placed.flatMap(({ assertion, place }) => {
    const objects = unaskedObjects(assertion);
    if (objects === undefined) return [];
    const { action, resource } = assertion;
    const [kind = ''] = resource.slice(resource.indexOf(':') + 1).split('.', 1);
    const asked = objects.map((object) => `\`${object}\``).join(', ');
    const message = `the server asks for \`${action}\` only on ${asked} and names below, such as \`${objects[0]}.x\``;
    return [source.problem([...place, 'resource'], `${message}${didYouMean(kind, objects)}`)];
  });
}

/** Assertions for `assume_role` with a pattern where only a name counts: of the role whose holders may, and of a role of the own domain. */
function assumedByPattern(
  { name: domain }: DomainDocument['content'],
  source: YamlSource,
  placed: readonly PlacedAssertion[],
): DocumentProblem[] {
  const isPattern = (text: string) => /[*?]/.test(text);
  return placed.flatMap(({ assertion, place }) => {
    const { effect, action, role, resource } = assertion;
    if (effect === 'DENY' || foldAscii(action) !== 'assume_role') return [];
    const text = 'has no effect: `assume_role` requires';
    if (isPattern(role)) return [source.problem([...place, 'role'], `${text} the name of a role, not a pattern`)];
    if (!isPattern(resource) || !resource.startsWith(`${domain}:`)) return [];
    const message = `${text} the name of a role of its own domain, not a pattern`;
    return [source.problem([...place, 'resource'], message)];
  });
}

/** Assertions all of whose requests a DENY denies. */
function shadowed(source: YamlSource, placed: readonly PlacedAssertion[]): DocumentProblem[] {
  const denies = placed.filter(({ assertion }) => assertion.effect === 'DENY' && assertion.conditions === undefined);
  const allows = placed.filter(({ assertion }) => assertion.effect === 'ALLOW');
  if (allows.length * denies.length > maxPairs) return [];
  const work = new Work(maxPatternWork);
  const found: DocumentProblem[] = [];
  try {
    for (const { assertion, place } of allows) {
      const deny = denies.find((other) => coversAssertion(other.assertion, assertion, work));
      if (deny === undefined) continue;
      found.push(source.problem(place, `never allows anything: ${named(source, deny)} denies all of it`));
    }
  } catch (error) {
    if (!(error instanceof WorkExceededError)) throw error;
  }
  return found;
}

function coversAssertion(deny: AssertionRecord, allow: AssertionRecord, work: Work): boolean {
  return (['role', 'action', 'resource'] as const).every((field) =>
    coversPattern(foldAscii(deny[field]), foldAscii(allow[field]), work),
  );
}

function named(source: YamlSource, { place }: PlacedAssertion): string {
  return `\`${formatPath(place)}\` in line ${source.problem(place, '').line}`;
}
