import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { top } from '../limits/constants.ts';
import { meanings } from '../support/feed-rows.ts';

/* The audit log tells people what happened. What the program does is derived from the tables, and snapshots follow the table `changes`. */

const sources = globSync('server/src/**/*.ts', { cwd: top })
  .map((file) => file.replaceAll('\\', '/'))
  .sort();
const textOf = (file: string) => readFileSync(join(top, file), 'utf8');
const released = 'server/src/store/migrations/';

/** Modules that read or copy records, and their purpose. */
const readers: Readonly<Record<string, string>> = {
  'server/src/store/audit-about.ts': 'finds the records that hold a name, for whoever asks for the log',
  'server/src/store/audit-chain.ts': 'checks the hashes',
  'server/src/store/audit-rows.ts': 'writes records, and reads them for whoever asks for the log',
  'server/src/store/copy/pages.ts': 'copies the log to another store, so much of it at once as its lengths allow',
  'server/src/store/sqlite/carry-over.ts': 'copies the log in a restore',
  'server/src/store/sqlite/check.ts': 'looks for the hash that the feed names',
  'server/src/store/sqlite/in-step.ts': 'looks for a hash',
  'server/src/store/sqlite/restart.ts': 'writes a record',
  'server/src/store/sqlite/restore.ts': 'looks for a hash',
};

test('records of the audit log are read to be shown, copied or checked, and for nothing else', (t) => {
  const reads = /(selectFrom|insertInto|updateTable)\('audit'\)|\b(from|into|join|update) (main\.|replaced\.)?audit\b/;
  const found = sources.filter((file) => !file.startsWith(released) && reads.test(textOf(file)));
  t.deepEqual(found, Object.keys(readers));
});

test('what records say before and after is parsed for answers of the management API alone', (t) => {
  const parses = /\b(sideOf|withoutHidden)\b/;
  const found = sources.filter((file) => parses.test(textOf(file)));
  t.deepEqual(found, [
    'server/src/http/management/object-change-routes.ts',
    'server/src/http/management/record-routes.ts',
    'server/src/store/audit-objects.ts',
  ]);
});

/** Modules that write the content of snapshots. Each records in the feed what it touches, or begins another epoch. */
const writers: Readonly<Record<string, string>> = {
  'server/src/store/end-names.ts': 'in a change that removed or added the service or domain',
  'server/src/store/name-rows.ts': 'in a change of the domain',
  'server/src/store/signing-key-rows.ts': 'called by the transaction',
  'server/src/store/sqlite/carry-over.ts': 'in a restore',
  'server/src/store/store-transaction.ts': 'says it by `#touch`',
  'server/src/store/write-domain.ts': 'called by the transaction',
  'server/src/store/write-lists.ts': 'called by the transaction',
  'server/src/store/write-services.ts': 'called by the transaction',
};

test('only these write to the tables that snapshots are made of', (t) => {
  const tables = Object.entries(meanings).flatMap(([table, meaning]) => (meaning === null ? [] : [table]));
  const names = tables.join('|');
  const writes = new RegExp(
    `(insertInto|updateTable|deleteFrom)\\((table|'(${names})')\\)|(insert( or \\w+)? into|update|delete from) (main\\.)?(${names})\\b`,
  );
  const found = sources.filter((file) => !file.startsWith(released) && writes.test(textOf(file)));
  t.deepEqual(found, Object.keys(writers));
});
