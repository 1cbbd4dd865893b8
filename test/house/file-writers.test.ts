import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';

/* Files that others read are put in place by one writer (`policy-engine/src/files`). What else puts something in place says why. */

const top = fileURLToPath(new URL('../..', import.meta.url));

/** Calls that complete a file under its name, and that make it durable. */
const calls = /^(?:rename|link|symlink|fsync|fdatasync)(?:Sync)?$/;

const others: Readonly<Record<string, string>> = {
  'client/src/identity/identity-files.ts': 'a link that says which version of an identity counts',
  'server/src/dev/sample-instances.ts': 'a link to the files of an identity',
  'server/src/full-backup/archive.ts': 'a file that a stream wrote',
  'server/src/full-backup/full-backup.ts': 'a folder that is complete',
  'server/src/store/sqlite/backup.ts': 'a file that SQLite wrote',
  'server/src/store/sqlite/restore.ts': 'files that SQLite wrote',
  'server/src/store/sqlite/witness.ts': 'a place in a file that stays open',
};

/** The names that a file takes from `node:fs` and `node:fs/promises`. */
function fileCalls(code: string): string[] {
  const imports = code.matchAll(/import \{([^}]*)\} from 'node:fs(?:\/promises)?'/g);
  return [...imports].flatMap(([, names = '']) => names.split(',').map((name) => name.trim()));
}

test('files are put in place by one writer', (t) => {
  const files = globSync('{policy-engine,client,updater,server,example-provider}/src/**/*.ts', { cwd: top });
  t.true(files.length > 300);
  const putting = files.filter((file) =>
    fileCalls(readFileSync(join(top, file), 'utf8')).some((name) => calls.test(name)),
  );
  t.deepEqual(putting.toSorted(), ['policy-engine/src/files/file-calls.ts', ...Object.keys(others)].toSorted());
});
