import { shortText } from '../../short-text.ts';
import { maxProblems } from '../documents/places.ts';
import { type FieldPath, formatPath } from '../documents/yaml-source.ts';

/** Something that does not come over as it was. */
export interface Notice {
  readonly message: string;
  /** How many parts of the domain it is about. */
  readonly count: number;
  /** The first of them. */
  readonly names: readonly string[];
}

/** Of each notice; more are counted. */
const namesShown = 5;
const kindsShown = 100;
const textBytes = 256;

/** What is found while a domain is converted: what is wrong with it, and what is not taken over or means something else. */
export class Findings {
  readonly problems: string[] = [];
  readonly #notices = new Map<string, { count: number; names: string[] }>();

  /** Something that cannot be converted. After `maxProblems` nobody reads on. */
  problem(path: FieldPath | string, message: string): void {
    if (this.problems.length >= maxProblems) return;
    const field = typeof path === 'string' ? path : formatPath(path);
    this.problems.push(field === '' ? message : `${shortText(field, textBytes)}: ${message}`);
  }

  /** Something that does not come over as it was. After many kinds of it the others are counted as one. */
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
