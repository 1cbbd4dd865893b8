import { createHash } from 'node:crypto';

const minute = 60_000;

/**
 * Offset within the minute at which a host polls, in milliseconds from its start. The same host and directory always get the same instant; many
 * hosts spread evenly, so that the server sees no peak.
 */
export function pollOffset(hostName: string, policyDir: string): number {
  return createHash('sha256').update(`${hostName}\0${policyDir}`).digest().readUInt32BE(0) % minute;
}
