import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

const script = fileURLToPath(import.meta.resolve('#support/store-without-descriptors'));

test('a SQLite store that is open is changed without another file: none is opened for statements of many rows', async (t) => {
  t.timeout(120_000);
  const file = join(temporaryFolder(t), 'signet.db');
  const command = 'ulimit -n 128; exec "$@"';
  const { stdout } = await promisify(execFile)('sh', [
    ...['-c', command, 'sh', process.execPath, '--conditions=@signet/source', script, file],
  ]);
  t.is(stdout, 'done');
});
