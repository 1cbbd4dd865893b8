import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdownTable } from '../measure/report.ts';
import { parseWords, UsageError } from '../options.ts';

export const proseUsage = 'usage: npm run bench -- prose [--list] [FOLDER]';

interface Comment {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** First words that name no thing, so that a reader has to guess the subject. */
const riddle =
  /^(?:What|Whatever|Whether|Who|Whoever|Whom|Whose|Which|One|Those|That|Such|Nobody|Somebody|Everybody|Something|Told|How(?! many\b)|As|So)\b/i;
const oddWords = /\b(?:nobody|somebody|by turns|of ours|so many)\b/i;

/** Strings, templates and regular expressions, so that none is taken for a comment; the group is a comment. */
const token = new RegExp(
  [
    /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/,
    /(?<=(?:[(,=:[!&|?{};>]|\breturn|^)\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//,
    /(\/\*[\s\S]*?\*\/|(?<![:\w])\/\/.*(?:\n[ \t]*\/\/.*)*)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'gm',
);

/** Prints the number of comments in each room, and of those that a reader reads twice; `--list` names them. */
export function prose(args: readonly string[]): void {
  const { values, positionals } = parseWords(args, { list: { type: 'boolean', default: false } }, proseUsage);
  const [under = '', ...rest] = positionals;
  if (rest.length > 0) throw new UsageError(proseUsage);
  const found = commentsOf(under);
  if (values.list) {
    const doubtful = found.filter(({ text }) => riddle.test(text) || oddWords.test(text));
    for (const { file, line, text } of doubtful) console.log(`${file}:${line}: ${text}`);
    return;
  }
  const sources = Map.groupBy(
    found.filter(({ file }) => /^[^/]+\/(?:src|bin)\//.test(file)),
    ({ file }) => file.replace(/\/.*/, ''),
  );
  const apart = Map.groupBy(
    found.filter(({ file }) => /^(?:bench|test)\//.test(file)),
    ({ file }) => file.replace(/\/.*/, ''),
  );
  console.log(
    markdownTable(
      ['room', 'comments', 'first words are a riddle', 'odd words'],
      [...[...sources].map(row), row(['all src and bin', [...sources.values()].flat()]), ...[...apart].map(row)],
    ),
  );
}

function row([room, comments]: readonly [string, readonly Comment[]]): string[] {
  const count = (form: RegExp): string => String(comments.filter(({ text }) => form.test(text)).length);
  return [room, String(comments.length), count(riddle), count(oddWords)];
}

function commentsOf(under: string): Comment[] {
  const top = execFileSync('git', ['rev-parse', '--show-toplevel'], { encoding: 'utf8' }).trim();
  const files = execFileSync('git', ['ls-files', '*.ts'], { cwd: top, encoding: 'utf8' }).trim().split('\n');
  return files
    .filter((file) => /^(?:[^/]+\/(?:src|bin)|bench|test)\//.test(file) && file.startsWith(under))
    .flatMap((file) => {
      const code = readFileSync(join(top, file), 'utf8');
      return [...code.matchAll(token)].flatMap(({ 1: comment, index }) =>
        comment === undefined
          ? []
          : [{ file, line: code.slice(0, index).split('\n').length, text: withoutMarks(comment) }],
      );
    });
}

function withoutMarks(comment: string): string {
  const lines = comment.replaceAll(/^[ \t]*(?:\/\*\*?|\*\/|\*|\/\/)[ \t]?|\*\/$/gm, '');
  return lines.replaceAll(/\s+/g, ' ').trim();
}
