import { userInfo } from 'node:os';

/** The name of who runs the command; its number where the system has no name for it, as in many containers. */
export function localUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? 'unknown');
  }
}
