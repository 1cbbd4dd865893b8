/** Names of the checks of `signet doctor`. */
type DoctorCheck =
  | 'identity'
  | 'certificate'
  | 'chain'
  | 'reachability'
  | 'server certificate'
  | 'clock'
  | 'keys'
  | 'policy'
  | 'database'
  | 'schema'
  | 'connections'
  | 'standbys'
  | 'memory'
  | 'address'
  | 'root key';

/** Finding of one check. `advice` is the remedy. */
export interface Finding<Check extends string = DoctorCheck> {
  readonly check: Check;
  readonly state: 'ok' | 'warning' | 'failed';
  readonly found: string;
  readonly advice?: string;
}

const dayMs = 86_400_000;

/** A span in words, e.g. `3 days`. Milliseconds. */
export function spanOf(milliseconds: number): string {
  const seconds = Math.abs(milliseconds) / 1000;
  const [count, unit] =
    seconds >= 172_800
      ? [seconds / 86_400, 'days']
      : seconds >= 7200
        ? [seconds / 3600, 'hours']
        : seconds >= 120
          ? [seconds / 60, 'minutes']
          : [seconds, 'seconds'];
  return `${Math.floor(count)} ${unit}`;
}

/** True if the end of a period is near: it should have been renewed in its last quarter, at most a week before. */
export function endsSoon(notBefore: number, notAfter: number, now: number): boolean {
  return notAfter - now < Math.min((notAfter - notBefore) / 10, 7 * dayMs);
}
