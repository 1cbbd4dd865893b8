/** Whose turn it is: a domain makes as many principals as it likes, while a user is somebody. Who is no principal has a lane too. */
export function laneOf(caller: string): string {
  const domain = caller.slice(0, Math.max(0, caller.lastIndexOf('.')));
  return domain === '' || domain === 'user' ? caller : domain;
}
