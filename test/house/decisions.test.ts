import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { top } from '../limits/constants.ts';

/* Records of decisions have one form, and their index lists each of them. */

const folder = join(top, 'docs/decisions');
const parts = ['Status', 'Context', 'Decision', 'Not chosen', 'Consequences'];
const statusForm = /^Accepted, \d{4}-\d{2}-\d{2}\.(?: (?:Amended|Superseded) by (\d{3})\.)?$/;

const files = globSync('[0-9]*.md', { cwd: folder }).sort();
const numberOf = (file: string): string => file.slice(0, 3);
const numbers = new Set(files.map(numberOf));
const read = (file: string): string => readFileSync(join(folder, file), 'utf8');

interface Part {
  readonly label: string;
  readonly text: string;
}

/** What stands behind each bold label, up to the next one. */
function labelled(text: string): Part[] {
  return [...text.matchAll(/^\*\*([^*\n]+)\.\*\*((?:(?!^\*\*).)*)/gms)].map(([, label = '', rest = '']) => ({
    label,
    text: rest.trim(),
  }));
}

const titleOf = (text: string): string => /^# \d{3}: (.+)\n/.exec(text)?.[1] ?? '';
const statusOf = (text: string): string => labelled(text).find(({ label }) => label === 'Status')?.text ?? '';

function faultsOf(file: string, text: string): string[] {
  const found = labelled(text);
  const status = statusForm.exec(statusOf(text));
  const other = status?.[1];
  return [
    /^\d{3}-[a-z0-9-]+\.md$/.test(file) ? [] : 'file name',
    text.startsWith(`# ${numberOf(file)}: `) && titleOf(text) !== '' ? [] : 'title',
    found.map(({ label }) => label).join() === parts.join() ? [] : 'parts',
    found.filter((part) => part.text === '').map(({ label }) => `empty: ${label}`),
    status === null ? 'status' : [],
    other === undefined || (numbers.has(other) && other > numberOf(file)) ? [] : `no later record ${other}`,
  ].flat();
}

test('every record has a number, a title, a status with a date and the five parts in their order', (t) => {
  t.true(files.length > 30);
  t.is(numbers.size, files.length);
  t.deepEqual(
    files.flatMap((file) => faultsOf(file, read(file)).map((fault) => `${file}: ${fault}`)),
    [],
  );
});

test('the index has a row and a link for every record, and a row with the successor for every merged one', (t) => {
  const index = read('README.md');
  const rows = [...index.matchAll(/^\| (\[?\d{3}.*) \|$/gm)].map(([, row = '']) =>
    row.split('|').map((cell) => cell.trim()),
  );
  t.deepEqual(
    rows.filter(([number]) => number?.startsWith('[')),
    files.map((file) => [`[${numberOf(file)}]`, titleOf(read(file)), statusOf(read(file))]),
  );
  for (const [number = '', title, status = ''] of rows.filter(([cell]) => !cell?.startsWith('['))) {
    const successor = /^Merged into \[(\d{3})\]\.$/.exec(status)?.[1] ?? '';
    t.true(!numbers.has(number) && title !== '' && numbers.has(successor), `${number}: ${status}`);
  }
  const links = [...index.matchAll(/^\[\d{3}\]: .*$/gm)].map(([link]) => link);
  t.deepEqual(
    links,
    files.map((file) => `[${numberOf(file)}]: ${file}`),
  );
});

const [whole = ''] = files;
const form = read(whole);
const partOf = (label: string): RegExp => new RegExp(`^\\*\\*${label}\\.\\*\\*(?:(?!^\\*\\*).)*`, 'ms');
const without = (label: string): string => form.replace(partOf(label), '');
const samples: [note: string, file: string, text: string, faults: string[]][] = [
  ['nothing', whole, form, []],
  ...parts.map((label): [string, string, string, string[]] => [
    `without ${label}`,
    whole,
    without(label),
    label === 'Status' ? ['parts', 'status'] : ['parts'],
  ]),
  ['an empty part', whole, form.replace(partOf('Context'), '**Context.**\n\n'), ['empty: Context']],
  ['another number', whole.replace('001', '002'), form, ['title']],
  ['no title', whole, form.replace(/^# 001: .*/, '# 001: '), ['title']],
  ['a number of one digit', whole, form.replace('# 001:', '# 1.'), ['title']],
  ['a part of its own', whole, `${form}\n**Figures.** None.\n`, ['parts']],
  ['another order', whole, `${without('Context')}\n**Context.** None.\n`, ['parts']],
  ['no date', whole, form.replace(/Accepted, .*/, 'Accepted.'), ['status']],
  ['a record that is not there', whole, form.replace(/(Accepted, .*)/, '$1 Amended by 999.'), ['no later record 999']],
];
for (const [note, file, text, faults] of samples) {
  test(`finds what a record lacks: ${note}`, (t) => t.deepEqual(faultsOf(file, text), faults));
}
