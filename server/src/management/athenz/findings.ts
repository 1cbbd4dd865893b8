import { shortText } from '../../base/short-text.ts';
import { maxProblems } from '../documents/places.ts';
import { type FieldPath, formatPath } from '../documents/yaml-source.ts';

/** Notice of a loss or difference in the conversion. */
export interface Notice {
  readonly message: string;
  /** How many parts of the domain it is about. */
  readonly count: number;
  /** The first of them. */
  readonly names: readonly string[];
}

/** Maximum of names shown in each notice; further ones are counted. */
const namesShown = 5;
const kindsShown = 100;
const textBytes = 256;

/** Findings of converting a domain: errors, and parts that are not converted or have another meaning. */
export class Findings {
  readonly problems: string[] = [];
  readonly #notices = new Map<string, { count: number; names: string[] }>();

  /** Adds an error. After `maxProblems` the conversion stops. */
  problem(path: FieldPath | string, message: string): void {
    if (this.problems.length >= maxProblems) return;
    const field = typeof path === 'string' ? path : formatPath(path);
    this.problems.push(field === '' ? message : `${shortText(field, textBytes)}: ${message}`);
  }

  /** Adds a notice of a loss or difference. After many kinds of notices the others are counted as one. */
  notice(text: string, name: string): void {
    const message = this.#notices.has(text) || this.#notices.size < kindsShown ? text : 'other things are not imported';
    const found = this.#notices.get(message) ?? { count: 0, names: [] };
    this.#notices.set(message, found);
    found.count += 1;
    if (found.names.length < namesShown) found.names.push(shortText(name, textBytes));
  }

  /** Each message once, in the order in which they were found. */
  get notices(): Notice[] {
    return [...this.#notices].map(([message, found]) => ({ message: shortText(message), ...found }));
  }
}

/** `tags of roles: not imported (2): reader, editor`. */
export function formatNotice({ message, count, names }: Notice): string {
  return `${message} (${count}): ${names.join(', ')}${count > names.length ? ', ...' : ''}`;
}
