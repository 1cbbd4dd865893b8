import { nearestName } from '../../config/nearest-name.ts';
import { UsageError } from '../run.ts';
import { describeOptions, type OptionDescription, type OptionSchema } from './describe-options.ts';
import { readSchema } from './schema-files.ts';

interface ExplainOptions {
  readonly updater?: boolean;
  readonly json?: boolean;
}

/**
 * Output of `signet config explain` for an option; for a section, its options; without a name, the sections. Throws `UsageError` with similar
 * names.
 */
export function explainOption(name: string | undefined, { updater, json }: ExplainOptions): unknown {
  const schema: OptionSchema = JSON.parse(readSchema(updater === true ? 'updater' : 'config'));
  const all = describeOptions(schema);
  if (name === undefined) return all.filter(isTop).map(shortly);
  const wanted = normalized(name);
  const found = all.find(({ option }) => option === wanted);
  if (found === undefined) throw new UsageError(`unknown option \`${name}\`${hint(all, wanted)}`);
  const below = all.filter(({ option }) => isDirectlyBelow(option, wanted));
  if (json === true) return { ...found, ...(below.length > 0 && { options: below }) };
  return found.isSection ? below.map(shortly) : inWords(found);
}

function isTop({ option }: OptionDescription): boolean {
  return !option.includes('.');
}

function shortly({ option, meaning }: OptionDescription): { option: string; meaning: string } {
  return { option, meaning };
}

/** Description in words, a line for each fact, under short names. */
function inWords({ isSection: _, isRequired, absent, ...described }: OptionDescription): Record<string, unknown> {
  const { option, meaning, type, default: value = isRequired ? 'required' : (absent ?? 'none'), ...rest } = described;
  return { option, meaning, type, default: value, ...rest };
}

/** `certificates.issuers.0.state` and `certificates.issuers[0].state` mean the option of every item. */
function normalized(name: string): string {
  return name.replaceAll(/\[\d+\]|\.\d+(?=\.|$)/g, '[]').replace(/\[\]$/, '');
}

/** True if it stands one level below the section, or in the items of the list. */
function isDirectlyBelow(option: string, section: string): boolean {
  const rest = option.startsWith(section) ? option.slice(section.length) : '';
  return /^(?:\[\])?\.[^.[\]]+$/.test(rest);
}

/** Options of that name in any section, else those that are written nearly so. */
function hint(all: readonly OptionDescription[], wanted: string): string {
  const names = all.map(({ option }) => option);
  const called = (last: string | undefined) => names.filter((name) => lastOf(name) === last);
  const near = nearestName(wanted, names);
  const guesses = [called(wanted), near === undefined ? [] : [near], called(nearestName(wanted, names.map(lastOf)))];
  const meant = guesses.find(({ length }) => length > 0);
  if (meant === undefined) return ': `signet config explain` lists the sections';
  return `, did you mean ${meant.map((name) => `\`${name}\``).join(' or ')}?`;
}

function lastOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
