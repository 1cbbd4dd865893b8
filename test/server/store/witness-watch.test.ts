import { watch } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import type { Store } from '@signet/server/model/store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { createWitness, readWitness, replaceWitness, witnessFileOf } from '@signet/server/store/sqlite/witness';
import test, { type ExecutionContext } from 'ava';
import { domainContent } from '#support/domains';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

const save = (store: Store, name: string) =>
  store.change({ actor: 'test' }, (change) => saveDomain(change, domainContent(name)));

/** A store that is open twice, as in two processes; the first counts the hints that it gets. */
async function openTwice(t: ExecutionContext) {
  const file = join(temporaryFolder(t), 'signet.db');
  const own = await openSqliteStore(file);
  const other = await openSqliteStore(file);
  t.teardown(async () => {
    await other.close();
    await own.close();
  });
  const seen = { hints: 0 };
  own.watch(() => {
    seen.hints += 1;
  });
  return { file, own, other, seen };
}

/** Resolves when the system has told of the next write to the witness. */
async function toldOf(file: string, write: () => Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const watcher = watch(witnessFileOf(file), () => resolve());
  await write();
  await promise;
  await turn();
  watcher.close();
}

test('a change of another process is a hint, one of this process is none', async (t) => {
  const { file, own, other, seen } = await openTwice(t);
  await toldOf(file, () => save(own, 'own'));
  t.is(seen.hints, 0);
  await save(other, 'other');
  await until('there is a hint', () => seen.hints > 0);
  const before = seen.hints;
  await save(other, 'later');
  await until('there is a hint', () => seen.hints > before);
  t.pass();
});

test('a witness that is replaced is watched again, and that is a hint', async (t) => {
  const { file, other, seen } = await openTwice(t);
  const position = readWitness(file);
  if (typeof position === 'string') throw new Error(`the witness is ${position}`);
  await save(other, 'first');
  await until('there is a hint', () => seen.hints > 0);
  replaceWitness(file, { ...position, sequence: position.sequence + 1 });
  const before = seen.hints;
  await save(other, 'second');
  await until('there is a hint', () => seen.hints > before);
  createWitness(file, position);
  const after = seen.hints;
  await save(other, 'third');
  await until('there is a hint', () => seen.hints > after);
  t.pass();
});

test('a store that is closed gives no hint and keeps no process alive', async (t) => {
  const file = join(temporaryFolder(t), 'signet.db');
  const own = await openSqliteStore(file);
  const other = await openSqliteStore(file);
  t.teardown(() => other.close());
  own.watch(() => t.fail('it is closed'));
  await own.close();
  await toldOf(file, () => save(other, 'later'));
  t.pass();
});
