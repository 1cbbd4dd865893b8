import { existsSync, globSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { parse } from 'acorn';
import { full } from 'acorn-walk';
import test from 'ava';
import { top } from '../limits/constants.ts';

/* The table of clauses says what is met by which test: one that is there, that runs, and that has that text in its title or its table. */

const pages = globSync('docs/reference/conformance*.md', { cwd: top });
const text = pages.map((page) => readFileSync(join(top, page), 'utf8')).join('\n');

interface Row {
  readonly id: string;
  readonly state: string;
  readonly by: string;
}

function rowsOf(markdown: string): Row[] {
  return [...markdown.matchAll(/^\| ([a-z0-9]+-\d+) +\|(.*)\|$/gm)].map(([, id = '', rest = '']) => {
    const cells = rest.split('|').map((cell) => cell.trim());
    return { id, state: cells[2] ?? '', by: cells.slice(3).join('|') };
  });
}

interface Source {
  /** Texts of strings and templates. */
  readonly texts: readonly string[];
  /** Tests that do not run, or of which only some do. */
  readonly idle: readonly string[];
}

const sources = new Map<string, Source>();

function sourceOf(file: string): Source {
  const known = sources.get(file);
  if (known !== undefined) return known;
  const texts: string[] = [];
  const idle: string[] = [];
  const code = stripTypeScriptTypes(readFileSync(join(top, file), 'utf8'));
  full(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), (node) => {
    if (node.type === 'Literal' && 'value' in node && typeof node.value === 'string') texts.push(node.value);
    if (node.type === 'TemplateElement' && 'value' in node) texts.push((node.value as { cooked: string }).cooked);
    const call = code.slice(node.start, node.start + 20);
    if (node.type === 'CallExpression' && /^test\.(?:serial\.)?(?:skip|todo|failing|only)/.test(call)) idle.push(call);
  });
  const source = { texts, idle };
  sources.set(file, source);
  return source;
}

/** Fault of a row; empty if none. */
function faultOf({ id, state, by }: Row): string[] {
  if (state !== 'met') {
    const isKnown = state === 'not met' || state === 'not applicable';
    return isKnown && by.length > 5 ? [] : [`${id}: the state must be known and have a reason`];
  }
  const [, file = '', , fragment = ''] = /^`(test\/[\w/.-]+\.test\.ts)`: (`{1,2}) ?(.{4,}?) ?\2$/.exec(by) ?? [];
  if (file === '' || !existsSync(join(top, file))) return [`${id}: must name a test: ${by}`];
  const { texts, idle } = sourceOf(file);
  if (idle.length > 0) return [`${id}: not all tests of ${file} run: ${idle.join(', ')}`];
  return texts.some((each) => each.includes(fragment)) ? [] : [`${id}: ${file} has no \`${fragment}\``];
}

test('every clause has a state, and what is met names a test that runs', (t) => {
  const rows = rowsOf(text);
  t.true(rows.length > 200);
  t.is(rows.length, text.split('\n').filter((line) => /^\| .*\| (?:met|not met|not applicable) +\|/.test(line)).length);
  t.deepEqual(rows.flatMap(faultOf), []);
  t.is(new Set(rows.map(({ id }) => id)).size, rows.length, 'no id is there twice');
});

test('the summary counts what is in the tables', (t) => {
  const rows = rowsOf(text);
  const count = (state: string) => rows.filter((row) => row.state === state).length;
  const said = /(\d+) are met, (\d+) are not\s+applicable and (\d+) are not met/.exec(text)?.slice(1).map(Number);
  t.deepEqual(said, [count('met'), count('not applicable'), count('not met')]);
});

test('a row that is wrong is found', (t) => {
  const row = (state: string, by: string) => faultOf({ id: 'x-1', state, by }).length;
  const own = 'test/house/conformance.test.ts';
  t.is(row('met', `\`${own}\`: \`a row that is wrong is found\``), 0);
  t.is(row('met', `\`${own}\`: \`\` must name a \`\``), 0);
  t.is(row('met', `\`${own}\`: \`${['no such', 'title'].join(' ')}\``), 1);
  t.is(row('met', `\`test/house/none.test.ts\`: \`a row that is wrong is found\``), 1);
  t.is(row('met', 'because'), 1);
  t.is(row('not met', ''), 1);
  t.is(row('nearly', 'a long reason'), 1);
});
