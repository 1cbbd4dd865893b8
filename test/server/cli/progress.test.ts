import { join } from 'node:path';
import { withProgress } from '@signet/server/cli/progress';
import { applyDocuments } from '@signet/server/management/apply-documents';
import { parseDomainDocument } from '@signet/server/management/documents/parse-document';
import { planDocuments } from '@signet/server/management/plan-documents';
import { parsePublicKey } from '@signet/server/management/public-key';
import { compareStores, copyStore } from '@signet/server/store/copy-store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

/** A terminal, and a clock that the work moves. */
function terminal(isTTY = true, columns = 60) {
  const written: string[] = [];
  let at = 1000;
  const options = { stream: { isTTY, columns, write: (text: string) => written.push(text) }, now: () => at };
  return { written, options, wait: (ms: number) => (at += ms) };
}

test('a bar on a terminal, not before half a second, ten times a second at most, and gone in the end', async (t) => {
  const { written, options, wait } = terminal();
  const done = await withProgress(async (onProgress) => {
    onProgress('copying rows', 1, 200);
    wait(500);
    onProgress('copying rows', 50, 200);
    wait(99);
    onProgress('copying rows', 51, 200);
    wait(1);
    onProgress('copying rows', 199, 200);
    wait(100);
    onProgress('reading', 7);
    return 'done';
  }, options);
  t.is(done, 'done');
  t.deepEqual(written, [
    '\r\u001b[K[#####               ]  25 % copying rows: 50 of 200',
    '\r\u001b[K[################### ]  99 % copying rows: 199 of 200',
    '\r\u001b[Kreading: 7',
    '\r\u001b[K',
  ]);
});

test('no line is longer than the terminal, and none holds controls', async (t) => {
  const { written, options, wait } = terminal(true, 40);
  await withProgress(async (onProgress) => {
    wait(500);
    onProgress('a\u001b[31m name that is longer than this terminal', 1, 2);
  }, options);
  t.is(written[0], `\r\u001b[K[##########          ]  50 % a\\u001b[31`);
});

test('nothing in a pipe, nothing for short work, and nothing is left when the work fails', async (t) => {
  const pipe = terminal(false);
  await withProgress(async (onProgress) => {
    pipe.wait(1000);
    onProgress('copying rows', 1, 2);
  }, pipe.options);
  const short = terminal();
  await withProgress(async (onProgress) => onProgress('copying rows', 1, 2), short.options);
  t.deepEqual([pipe.written, short.written], [[], []]);
  const failing = terminal();
  const work = withProgress(async (onProgress) => {
    failing.wait(500);
    onProgress('copying rows', 1, 2);
    throw new Error('no');
  }, failing.options);
  await t.throwsAsync(work, { message: 'no' });
  t.is(failing.written.at(-1), '\r\u001b[K');
});

test('a plan, an apply, a copy and a comparison say how far they are, up to the end', async (t) => {
  const folder = temporaryFolder(t);
  const documents = ['films', 'media'].map((name) => {
    const text = `domain: ${name}\nroles: { r: { members: [user.a] } }\npolicies: { p: [{ action: a, resource: x, role: r }] }\n`;
    const result = parseDomainDocument(`${name}.yaml`, text, parsePublicKey);
    if (result.kind === 'bad') throw new Error('it is good');
    return result.document;
  });
  const said = new Map<string, string>();
  const onProgress = (what: string, done: number, total?: number) => said.set(what, `${done} of ${total}`);
  const from = { kind: 'sqlite', file: join(folder, 'one.db') } as const;
  const to = { kind: 'sqlite', file: join(folder, 'two.db') } as const;
  const store = await openSqliteStore(from.file);
  await planDocuments(store, { documents, cases: [] }, 0, { onProgress });
  await applyDocuments(store, { documents, cases: [] }, { actor: 'local:jane' }, { now: 0, onProgress });
  await store.close();
  const { rows } = await copyStore(from, to, { resume: false, whileRunning: false, onProgress });
  t.deepEqual(Object.fromEntries(said), {
    'comparing access, domains': '2 of 2',
    'saving domains': '2 of 2',
    'reading the source, rows': `${rows} of undefined`,
    // The last row is that of the store itself, in the transaction that ends the copy.
    'copying rows': `${rows - 1} of ${rows}`,
    'comparing rows': `${rows} of ${rows}`,
  });
  said.clear();
  await compareStores(from, to, onProgress);
  t.deepEqual(Object.fromEntries(said), { 'comparing rows': `${rows} of ${rows}` });
});
