import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tellSystemd } from '@signet/server/cli/tell-systemd';
import { createLogger } from '@signet/server/logger';
import test, { type ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';

/** A folder whose `systemd-notify` notes how it was called, and ends with the status. */
function notifying(t: ExecutionContext, status: number) {
  const folder = temporaryFolder(t);
  const script = `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >> "${folder}/called"\nexit ${status}\n`;
  writeFileSync(join(folder, 'systemd-notify'), script, { mode: 0o755 });
  const lines: string[] = [];
  const logger = createLogger('info', { write: (line: string) => void lines.push(line) });
  const called = () => (existsSync(`${folder}/called`) ? readFileSync(`${folder}/called`, 'utf8') : '');
  return { folder, logger, called, logged: () => lines.map((line) => JSON.parse(line).msg) };
}

test('systemd is told once when it waits, and not when nobody does', async (t) => {
  const { folder, logger, called, logged } = notifying(t, 0);
  await tellSystemd({ PATH: folder }, logger);
  await tellSystemd({ PATH: folder, NOTIFY_SOCKET: '' }, logger);
  t.is(called(), '');
  await tellSystemd({ PATH: folder, NOTIFY_SOCKET: '/run/systemd/notify' }, logger);
  t.is(called(), '/run/systemd/notify --ready\n');
  t.deepEqual(logged(), []);
});

test('what keeps systemd from being told is logged, and the server goes on', async (t) => {
  const said = ['systemd cannot be notified: check that `systemd-notify` is installed'];
  const failing = notifying(t, 1);
  await tellSystemd({ PATH: failing.folder, NOTIFY_SOCKET: '/run/systemd/notify' }, failing.logger);
  t.deepEqual(failing.logged(), said);
  const missing = notifying(t, 0);
  await tellSystemd({ PATH: join(missing.folder, 'none'), NOTIFY_SOCKET: '/run/systemd/notify' }, missing.logger);
  t.deepEqual(missing.logged(), said);
});
