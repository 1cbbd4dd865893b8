import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { warnOfOpenFiles } from '@signet/server/cli/open-files';
import { createLogger } from '@signet/server/logger';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

test('a data folder, a folder of keys and a key that others may use are said, and nothing else', (t) => {
  const dataDir = temporaryFolder(t);
  const keysDir = join(dataDir, 'keys');
  const lines: unknown[] = [];
  const logger = createLogger('info', {
    write: (line: string) => {
      const { path, mode, msg } = JSON.parse(line);
      lines.push([path, mode, msg]);
    },
  });
  warnOfOpenFiles({ dataDir, keysDir }, logger);
  mkdirSync(keysDir, { mode: 0o700 });
  for (const name of ['closed.pem', 'open.pem']) writeFileSync(join(keysDir, name), '', { mode: 0o600 });
  warnOfOpenFiles({ dataDir, keysDir }, logger);
  t.deepEqual(lines, []);
  chmodSync(dataDir, 0o755);
  chmodSync(keysDir, 0o750);
  chmodSync(join(keysDir, 'open.pem'), 0o644);
  warnOfOpenFiles({ dataDir, keysDir }, logger);
  t.deepEqual(lines, [
    [dataDir, '755', 'readable by other users, its mode should be 0700'],
    [keysDir, '750', 'readable by other users, its mode should be 0700'],
    [join(keysDir, 'open.pem'), '644', 'readable by other users, its mode should be 0600'],
  ]);
});
