import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Environment } from '../config/env.ts';
import type { Logger } from '../logger.ts';

/**
 * Notifies the systemd that started this process and waits for it (`Type=notify`) that the server answers.
 * `systemd-notify` does so, as Node has no datagram sockets of the file system; the unit therefore has
 * `NotifyAccess=all`. Never throws: systemd ends a service that does not tell.
 */
export async function tellSystemd(environment: Environment, logger: Logger): Promise<void> {
  if (!environment['NOTIFY_SOCKET']) return;
  try {
    const child = spawn('systemd-notify', ['--ready'], { env: environment, stdio: 'ignore' });
    const [status] = await once(child, 'exit');
    if (status !== 0) throw new Error(`systemd-notify ended with ${status}`);
  } catch (error) {
    logger.error({ error: String(error) }, 'systemd cannot be notified: check that `systemd-notify` is installed');
  }
}
