import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/** Coverage file of V8 for a process (`NODE_V8_COVERAGE`). Positions are those of the source: types are blanked out in place. */
interface Report {
  readonly result: readonly {
    readonly url: string;
    readonly functions: readonly { readonly ranges: readonly Range[] }[];
  }[];
}

/** Executed ranges of a source in one process. */
export interface SourceRanges {
  readonly url: string;
  readonly ranges: readonly Range[];
}

/** Executed places of the sources in a run. */
export class Coverage {
  readonly #byUrl: ReadonlyMap<string, readonly SourceRanges[]>;

  private constructor(found: readonly SourceRanges[]) {
    this.#byUrl = Map.groupBy(found, ({ url }) => url);
  }

  static of(found: readonly SourceRanges[]): Coverage {
    return new Coverage(found);
  }

  /** Reads what the processes of a run wrote into this folder, of the sources that count. */
  static read(folder: string, counts: (url: string) => boolean): Coverage {
    const found = globSync('coverage-*.json', { cwd: folder }).flatMap((name) => {
      const ours = resultsOf(readFileSync(join(folder, name), 'utf8')).filter(({ url }) => counts(url));
      return ours.map(({ url, functions }) => ({ url, ranges: functions.flatMap(({ ranges }) => ranges) }));
    });
    return new Coverage(found);
  }

  toRanges(): SourceRanges[] {
    return [...this.#byUrl.values()].flat();
  }

  /** True if the character at this place was executed: in some process the innermost range that holds it was. */
  reaches(url: string, offset: number): boolean {
    return (this.#byUrl.get(url) ?? []).some(({ ranges }) => (innermost(ranges, offset)?.count ?? 0) > 0);
  }
}

/** Coverage of a process; empty where it was ended while it wrote. */
function resultsOf(text: string): Report['result'] {
  try {
    const report: Report = JSON.parse(text);
    return report.result;
  } catch {
    return [];
  }
}

function innermost(ranges: readonly Range[], offset: number): Range | undefined {
  let found: Range | undefined;
  for (const range of ranges) {
    if (offset < range.startOffset || offset >= range.endOffset) continue;
    const size = range.endOffset - range.startOffset;
    if (found === undefined || size <= found.endOffset - found.startOffset) found = range;
  }
  return found;
}
