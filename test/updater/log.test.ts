import { spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { temporaryFolder } from '#support/temp';

test('a log that cannot be written costs lines, and not the updater', (t) => {
  const folder = temporaryFolder(t);
  const script = join(folder, 'chatty.ts');
  writeFileSync(
    script,
    `import { createLogger } from ${JSON.stringify(import.meta.resolve('@signet/updater/logger'))};
     const log = createLogger('info');
     for (let n = 0; n < 20_000; n += 1) log.info({ n, text: 'x'.repeat(100) }, 'line');
     process.stdout.write('goes on');`,
  );
  // A file that may not grow past 100 KiB: the next write fails as on a full disk.
  const command = 'ulimit -f 100; exec "$0" --conditions=@signet/source "$1" 2>>"$2"';
  const log = join(folder, 'log');
  const { status, stdout } = spawnSync('/bin/bash', ['-c', command, process.execPath, script, log], {
    encoding: 'utf8',
  });
  t.deepEqual([status, stdout, statSync(log).size], [0, 'goes on', 102_400]);
});
