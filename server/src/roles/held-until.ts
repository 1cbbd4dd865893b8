import type { Clock } from '@signet/policy-engine/clock';

/**
 * The end of what is issued for roles or for a right, in whole seconds since the epoch: the latest second up to `latest` at which all of it is
 * still held, so that nothing outlives the memberships that give it; `start` where that is less than a second away. Access tokens, role
 * tokens, ID tokens with roles or groups, role certificates, SSH certificates and cloud credentials all ask here. `isHeld` is asked with
 * milliseconds. INVARIANT: memberships end and none begins by itself, so what is held at a later moment is held until then.
 */
export function heldUntil(isHeld: (now: number) => boolean, start: number, latest: number): number {
  if (isHeld(lastMoment(latest))) return latest;
  let [held, lost] = [start, latest];
  while (held + 1 < lost) {
    const middle = Math.floor((held + lost) / 2);
    if (isHeld(lastMoment(middle))) held = middle;
    else lost = middle;
  }
  return held;
}

/** The moment, in milliseconds, at which roles must be held for something to be issued now: what ends sooner than in a second is not held. */
export function aSecondOn(clock: Clock): number {
  return clock.now() + 999;
}

/** The last moment, in milliseconds, of what ends at this second. */
export function lastMoment(end: number): number {
  return end * 1000 - 1;
}
