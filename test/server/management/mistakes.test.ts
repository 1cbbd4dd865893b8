import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DocumentProblem, formatProblem, InvalidDocumentError } from '@signet/server/errors';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { readDocumentFolder } from '@signet/server/management/documents/read-folder';
import { planDocuments } from '@signet/server/management/plan-documents';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

/* The table of mistakes is the guide: each of its sections has documents, and what is said of them. */

const now = 1_767_225_600_000;
const guide = readFileSync(new URL('../../../docs/guides/mistakes.md', import.meta.url), 'utf8');
const [introduction = '', ...sections] = guide.split(/^## /m);

interface Mistake {
  readonly title: string;
  readonly files: ReadonlyMap<string, string>;
  /** Report quoted by the guide, a line for each problem. */
  readonly said: string;
}

function filesOf(markdown: string): Map<string, string> {
  return new Map(
    [...markdown.matchAll(/^```yaml (\S+)\n(.*?)^```$/gms)].map(([, name = '', text = '']) => [name, text]),
  );
}

const mistakes = sections.map((section): Mistake => {
  const [title = ''] = section.split('\n', 1);
  return { title, files: filesOf(section), said: /^```text\n(.*?)\n^```$/ms.exec(section)?.[1] ?? '' };
});

/** The lines that a plan of these documents has, in a store with the documents of the introduction. */
async function saidOf(t: ExecutionContext, files: ReadonlyMap<string, string>, strict: boolean): Promise<string> {
  const folder = temporaryFolder(t);
  const store = await openSqliteStore(join(folder, 'signet.db'));
  t.teardown(() => store.close());
  const read = (name: string, documents: ReadonlyMap<string, string>) => {
    mkdirSync(join(folder, name));
    for (const [file, text] of documents) writeFileSync(join(folder, name, file), text);
    return readDocumentFolder(join(folder, name));
  };
  const lines = (kind: string, problems: readonly DocumentProblem[]) =>
    problems.map((problem) => `${kind} ${formatProblem(problem).replaceAll(`${join(folder, 'work')}/`, '')}`);
  await applyDocuments(store, read('stored', filesOf(introduction)), { actor: 'local:jane' }, { now });
  try {
    const { refusals, warnings } = await planDocuments(store, read('work', files), now, { strict });
    return [...lines('refused', refusals), ...lines('warning', warnings)].join('\n');
  } catch (error) {
    if (!(error instanceof InvalidDocumentError)) throw error;
    return lines('refused', error.problems).join('\n');
  }
}

test('the guide has at least twenty mistakes, each with a remedy', (t) => {
  t.true(mistakes.length >= 20);
  for (const section of sections) t.regex(section, /^```text\n[^`]*(`[^`]*)*?\n```\n\n\S/m);
});

for (const { title, files, said } of mistakes) {
  test(`what is said of it is what the guide says: ${title}`, async (t) => {
    t.is(await saidOf(t, files, false), said);
    t.is(await saidOf(t, files, true), said.replaceAll(/^warning /gm, 'refused '));
  });
}
