import { ServiceUnavailableError } from '../errors.ts';

/** The other processes of one server, which share its port and its store (`workers`). */
export interface Peers {
  /**
   * Makes every other process read the store; fulfilled when each of them has, or has ended. Changes committed before the call are then in force
   * in the whole server. Throws `ServiceUnavailableError` when one cannot, or does not answer in time.
   */
  refresh(): Promise<void>;
}

/** Error in place of an acknowledgement while some process does not follow. */
export function notFollowed(cause?: unknown): ServiceUnavailableError {
  const text = 'the change was saved, but a process of this server has not loaded it yet: send the request again';
  return new ServiceUnavailableError(text, { cause });
}

/** A server of one process. */
export const noPeers: Peers = { refresh: () => Promise.resolve() };
