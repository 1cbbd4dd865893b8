/** Hand-coded engines that first look whether a resource is of the domain, as Signet's must: it answers another status for one that is not. */
import type { Prepare } from '../engine.ts';
import { domain } from '../workload.ts';
import { prepareHandMap } from './hand-map.ts';
import { prepareHandScan } from './hand-scan.ts';

export const prepareMapOfDomain: Prepare = behindDomain(prepareHandMap);
export const prepareScanOfDomain: Prepare = behindDomain(prepareHandScan);

function behindDomain(prepare: Prepare): Prepare {
  const prefix = `${domain}:`;
  return async (rules) => {
    const decide = await prepare(rules);
    // The cheapest of the ways where the beginning is known to the compiler.
    return decide && ((roles, action, resource) => resource.startsWith(prefix) && decide(roles, action, resource));
  };
}
