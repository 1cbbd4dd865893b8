import { InvalidNameError } from '@signet/policy-engine/names';
import { type DocumentProblem, InvalidRequestError } from '../../errors.ts';
import { type Fields, parseFields, type Values, type Wires } from '../../model/fields.ts';
import type { FieldPath, YamlSource } from './yaml-source.ts';

/** An entry of a mapping, and where it stands. */
export interface Entry<Name extends string, Value> {
  readonly name: Name;
  readonly value: Value;
  readonly path: FieldPath;
}

/** Ends the reading of a text at the maximum number of problems. */
export class TooManyProblems extends Error {}

/** Collects what is wrong with a document while its parts are read; a part that is wrong is left out. */
export class FieldReader {
  readonly source: YamlSource;
  readonly problems: DocumentProblem[] = [];
  readonly #maxProblems: number;

  /** `maxProblems`: upper bound of the problems, above which `complain` throws `TooManyProblems`. Default: none. */
  constructor(source: YamlSource, maxProblems = Infinity) {
    this.source = source;
    this.#maxProblems = maxProblems;
  }

  complain(path: FieldPath, message: string, at: 'key' | 'value' = 'value'): void {
    this.problems.push(this.source.problem(path, message, at));
    if (this.problems.length >= this.#maxProblems) throw new TooManyProblems();
  }

  /**
   * The value as `parse` makes it; undefined, with a problem, when it throws one of the expected errors. `where` is the path, or makes it:
   * for the items of long lists.
   */
  read<Value>(
    where: FieldPath | (() => FieldPath),
    parse: () => Value,
    at: 'key' | 'value' = 'value',
  ): Value | undefined {
    try {
      return parse();
    } catch (error) {
      const path = typeof where === 'function' ? where() : where;
      if (error instanceof InvalidNameError) this.complain(path, error.message.replace(/^.*? is not/, 'is not'), at);
      else if (error instanceof InvalidRequestError) this.complain(path, error.message, at);
      else throw error;
      return undefined;
    }
  }

  fields<F extends Fields>(path: FieldPath, fields: F, wires: Wires<F>): Values<F> {
    return parseFields(fields, wires, (name, parse) => this.read(() => [...path, name], parse));
  }

  /** The entries of a mapping with their names parsed; two names that differ only in case are a problem. */
  entries<Name extends string, Value>(
    path: FieldPath,
    mapping: Readonly<Record<string, Value>> | undefined,
    parse: (value: unknown, field?: string) => Name,
  ): Entry<Name, Value>[] {
    const seen = new Set<Name>();
    const entries: Entry<Name, Value>[] = [];
    for (const [key, value] of Object.entries(mapping ?? {})) {
      const at = [...path, key];
      const name = this.read(at, () => parse(key), 'key');
      if (name === undefined) continue;
      if (seen.has(name)) this.complain(at, 'is there twice: names are compared without case', 'key');
      seen.add(name);
      entries.push({ name, value, path: at });
    }
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}
