import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import { openStore } from '@signet/server/store/open';
import { spendJoinToken } from './spend-join-token.ts';

/* A process that works on a store beside others: `node instance-worker.ts PLACE`, then orders over its channel. */

export const instance = {
  provider: parsePrincipalName('sys.auth.server'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
  instanceId: parsePathElement('i-1'),
};

export type WorkerOrder =
  /** Spends each of the join tokens three times at once; the answer says for each how often it was done. */
  | { readonly kind: 'spend'; readonly digests: readonly string[] }
  /** Issues a certificate for who presents another one; the answer is the rotation. */
  | { readonly kind: 'rotate'; readonly presented: string; readonly serial: string };

async function serve(place: string): Promise<void> {
  const store = await openStore(JSON.parse(place));
  const spend = async (digest: string) => {
    const outcomes = await Promise.all([1, 2, 3].map(() => spendJoinToken(store, digest, instance, 50)));
    return outcomes.filter((spent) => spent).length;
  };
  const rotate = async (presented: string, serial: string) => {
    const row = { serial, issuer: 'i', kind: 'instance', subject: 'media.player', notBefore: 0, notAfter: 99 } as const;
    const holder = parsePrincipalName('media.player');
    await store.certificates.intend({ ...row, ...instance, holder }, 1);
    return store.instances.rotate(instance, { serial: presented, at: 1 }, { serial, fingerprint: 'f', notAfter: 99 });
  };
  process.on('message', (order: WorkerOrder) => {
    const done = order.kind === 'spend' ? Promise.all(order.digests.map(spend)) : rotate(order.presented, order.serial);
    void done.then((answer) => process.send?.(answer));
  });
  process.on('disconnect', () => void store.close());
  process.send?.('ready');
}

const [, script, place] = process.argv;
if (script === import.meta.filename && place !== undefined) await serve(place);
