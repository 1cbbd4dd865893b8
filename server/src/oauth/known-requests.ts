import { LRUCache } from 'lru-cache';
import { atMost } from '../base/at-most.ts';
import type { TokenRequest } from './token-request.ts';

/** Forms that are kept as they were read, and their greatest length in characters. */
const maxKnownForms = 1000;
const maxKnownFormLength = 512;

/**
 * Reads a form with `read`, once where services ask for the same again and again: what it asks for depends on its text alone. What `read`
 * throws is not kept.
 */
export function knownRequests(read: (form: string) => TokenRequest): (form: string) => TokenRequest {
  const known = new LRUCache<string, TokenRequest>(atMost(maxKnownForms));
  return (form) => {
    const last = known.get(form);
    if (last !== undefined) return last;
    const request = read(form);
    if (form.length <= maxKnownFormLength) known.set(form, request);
    return request;
  };
}
