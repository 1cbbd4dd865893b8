/** Has a server's publisher sign a domain of a given size, in a process that signed a small one before. Needs `--expose-gc`. */
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePolicyName } from '@signet/policy-engine/names';
import { type BundlePublisher, createBundlePublisher } from '@signet/server/bundles/publish-bundle';
import { emptyDomain } from '@signet/server/model/empty-domain';
import { compileDomain, compileGrantsInSteps } from '@signet/server/snapshot/compile-domain';
import type { DomainSnapshot } from '@signet/server/snapshot/snapshot';
import { runAtOnce } from '@signet/server/steps/steps';
import { domain } from '../decisions/workload.ts';
import { answerOrders } from '../measure/answer-order.ts';
import { costOf, measureOwn, type OwnCost } from '../measure/own-cpu.ts';
import { assertionsFor, newSigningPair, rulesFor } from './bundle.ts';

export interface SigningOrder {
  readonly megabytes: number;
  /** Where instructions are counted instead: the folder of the counter. */
  readonly countIn?: string;
}

function domainOf(name: string, size: number): DomainSnapshot {
  const modified = systemClock.now();
  const rules = rulesFor(size).map((rule, id) => ({ ...rule, id, caseSensitive: false }));
  const policy = { name: parsePolicyName('benchmark'), version: '0', active: true, caseSensitive: false, modified };
  const record = {
    ...emptyDomain(parseDomainName(name)),
    policies: [{ ...policy, assertions: rules }],
    policyVersion: 1,
    policyModified: modified,
  };
  return compileDomain(record, runAtOnce(compileGrantsInSteps(record, 0)));
}

function publisherOf(domains: readonly DomainSnapshot[]): BundlePublisher {
  const active = { token: undefined, bundle: undefined, accessToken: undefined, idToken: undefined };
  const { privateKey } = newSigningPair();
  return createBundlePublisher({
    snapshot: () => ({
      epoch: 0,
      counter: 1,
      head: '',
      domain: (name) => domains.find((one) => one.name === name),
      domains: new Map(),
      members: new Map(),
      bundleDomains: new Map(),
      disabledDomains: new Set(),
      isPart: false,
      outdatedDomains: new Set(),
      signingKeys: [],
    }),
    keys: {
      current: () => ({ ...active, published: [], missing: [] }),
      key: () => ({ kid: 'benchmark', privateKey }),
    },
    clock: systemClock,
    lifetimeSeconds: 7 * 86_400,
  });
}

/** The domain has been there for long: what moves its objects because they are new is not what a signature costs. */
function settle(): void {
  if (globalThis.gc === undefined) throw new Error('needs --expose-gc');
  for (let round = 0; round < 3; round += 1) globalThis.gc();
}

/** Cost of a signature, or its instructions. */
async function measure({ megabytes, countIn }: SigningOrder): Promise<OwnCost | number> {
  const [small, large] = [domainOf('small', 100), domainOf(domain, assertionsFor(megabytes))];
  const publisher = publisherOf([small, large]);
  await publisher.publish(small, 'rfc7515').issue();
  settle();
  const sign = async () => {
    const { json } = await publisher.publish(large, 'rfc7515').issue();
    const bytes = json.reduce((total, part) => total + part.length, 0);
    if (bytes < megabytes * 1_000_000) throw new Error('the bundle is too small');
  };
  return countIn === undefined ? measureOwn(sign) : costOf(sign, countIn);
}

answerOrders(measure);
