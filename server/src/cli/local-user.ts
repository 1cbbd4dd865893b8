import { userInfo } from 'node:os';
import { type Environment, processEnvironment } from '../config/env.ts';

/** The name of who runs the command; its number where the system has no name for it, as in many containers. */
function localUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}

/* A name as sudo gives it; nothing else gets into a record. */
const userName = /^[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}\$?$/;

/**
 * Actor in audit records for a command that works on the store itself: `local:<user>`, and for the superuser with `SUDO_USER` the user who
 * became it. `SUDO_USER` is information for readers of the records: anyone may set it, and no right depends on it.
 */
export function localActor(environment: Environment = processEnvironment(), user: string = localUser()): string {
  const sudoUser = environment['SUDO_USER'] ?? '';
  const isElevated = user === 'root' && sudoUser !== 'root' && userName.test(sudoUser);
  return isElevated ? `local:${user} (sudo by ${sudoUser})` : `local:${user}`;
}
