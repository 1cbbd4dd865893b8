import type { Decision } from '../policy/index.ts';
import { pauseBetweenSlices } from '../steps/slices.ts';

/** Maximum of requests of `decideMany`, and of resources of `filter` and `filterRoles`. */
export const maxRequests = 10_000;

/** Decides one request after the other, a few milliseconds at a time. Throws `RangeError` for too many. */
export async function decideEach<Request>(
  requests: readonly Request[],
  decide: (request: Request) => Decision | Promise<Decision>,
): Promise<Decision[]> {
  if (requests.length > maxRequests) throw new RangeError(`at most ${maxRequests} requests in one call`);
  const pause = pauseBetweenSlices();
  const decisions: Decision[] = [];
  for (const request of requests) {
    decisions.push(await decide(request));
    await pause();
  }
  return decisions;
}

/** The resources that are allowed, in their order. Throws as `decideEach` does. */
export async function allowedOf(
  resources: readonly string[],
  decide: (resource: string) => Decision | Promise<Decision>,
): Promise<string[]> {
  // Copy: the owner of the list may change it while the decisions are made.
  const asked = [...resources];
  const decisions = await decideEach(asked, decide);
  return asked.filter((_, index) => decisions[index]?.status === 'ALLOW');
}
