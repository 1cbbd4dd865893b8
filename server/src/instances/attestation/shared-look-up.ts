import { lookup } from 'node:dns/promises';

/** Finds the addresses of a host. */
export type LookUp = (host: string) => Promise<readonly string[]>;

const askSystem: LookUp = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);

/**
 * Look-up of hosts' addresses, shared by concurrent requests for one host. INVARIANT: the system has two threads for this, and a name whose
 * servers do not answer holds one of them for many seconds, also when no caller waits any more. With a query for each call, such a name would
 * keep the server from finding any other.
 */
export function sharedLookUp(ask: LookUp = askSystem): LookUp {
  const asking = new Map<string, Promise<readonly string[]>>();
  return (host) => {
    const known = asking.get(host);
    if (known !== undefined) return known;
    const asked = ask(host).finally(() => asking.delete(host));
    asking.set(host, asked);
    return asked;
  };
}
