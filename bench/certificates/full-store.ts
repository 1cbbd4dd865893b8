import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { epochSeconds, systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePathElement, parsePrincipalName, parseServiceName } from '@signet/policy-engine/names';
import type { Store } from '@signet/server/model/store';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { serialFrom, serialRandomOctets } from '@signet/server/x509/build-certificate';
import { formatSpread, markdownTable } from '../measure/report.ts';
import { ratioOf, type Spread } from '../measure/statistics.ts';

const holder = parsePrincipalName('media.player');
const service = {
  provider: parsePrincipalName('sys.auth.server'),
  domain: parseDomainName('media'),
  service: parseServiceName('player'),
};
const details = { clientOnly: false };
const revocation = { reason: 'superseded', at: 0, by: 'bench' } as const;

const keyOf = (index: number) => ({ ...service, instanceId: parsePathElement(`i-${index}`) });

/** The rows of a certificate without the certificate: what the store has to do with it. */
async function give(store: Store, index: number) {
  const at = epochSeconds(systemClock);
  const serial = serialFrom(systemClock.now() / 1000, randomBytes(serialRandomOctets)).toString('hex');
  const times = { notBefore: at - 3600, notAfter: at + 86_400 };
  const row = { serial, issuer: '3a'.repeat(20), kind: 'instance', subject: 'media.player', holder } as const;
  await store.certificates.intend({ ...row, ...keyOf(index), ...times }, at);
  return { serial, fingerprint: 'f'.repeat(43), notAfter: times.notAfter };
}

/** Each instance is registered once, and its certificate noted. */
async function fill(store: Store, instances: number): Promise<string[]> {
  const serials: string[] = [];
  for (let first = 0; first < instances; first += 64) {
    const group = Array.from({ length: 64 }, async (_, index) => {
      const given = await give(store, first + index);
      await store.instances.register(keyOf(first + index), given, { ...details, at: epochSeconds(systemClock) });
      serials[first + index] = given.serial;
    });
    await Promise.all(group);
  }
  return serials;
}

const names = [
  'registered',
  'refreshed',
  'a certificate revoked',
  'new revocations read',
  'orphans listed',
  'nothing to forget',
] as const;

type Operations = Readonly<Record<(typeof names)[number], (turn: number) => Promise<unknown>>>;

/** Store operations of one instance, spread over all that it holds. */
function operations(store: Store, serials: string[]): Operations {
  const indexOf = (turn: number) => (turn * 7919) % serials.length;
  return {
    registered: async (turn) => {
      const index = indexOf(turn);
      const given = await give(store, index);
      await store.instances.register(keyOf(index), given, { ...details, at: epochSeconds(systemClock) });
      serials[index] = given.serial;
    },
    refreshed: async (turn) => {
      const index = indexOf(turn);
      const presented = serials[index] ?? '';
      await store.instances.statusOf(keyOf(index), presented);
      const given = await give(store, index);
      await store.instances.rotate(keyOf(index), { serial: presented, at: epochSeconds(systemClock) }, given);
      serials[index] = given.serial;
    },
    'a certificate revoked': (turn) =>
      store.change({ actor: 'bench' }, (change) => change.revokeCertificate(serials[indexOf(turn)] ?? '', revocation)),
    'new revocations read': () => store.certificates.revocationsAfter(1_000_000, 0),
    'orphans listed': () => store.certificates.orphans(0),
    'nothing to forget': () => store.certificates.prune(0, 100),
  };
}

async function cpuOf(work: (turn: number) => Promise<unknown>, from: number): Promise<number> {
  const turns = 320;
  const start = process.cpuUsage();
  for (let turn = 0; turn < turns; turn += 16) {
    await Promise.all(Array.from({ length: 16 }, (_, index) => work(from + turn + index)));
  }
  const { user, system } = process.cpuUsage(start);
  return (user + system) / turns;
}

interface Side {
  readonly store: Store;
  readonly work: Operations;
}

/** The cost in the second store over that in the first, measured in turns. */
async function ratioAcross(name: keyof Operations, sides: readonly Side[]): Promise<Spread> {
  const costs = sides.map((): number[] => []);
  for (let round = 0; round <= 5; round += 1) {
    for (const [side, { work }] of sides.entries()) {
      const cost = await cpuOf(work[name], round * 320);
      if (round > 0) costs[side]?.push(cost); // the first round warms up
    }
  }
  const [few = [], many = []] = costs;
  return ratioOf(many, few);
}

/** Store operations with few and with many certificates, side by side. */
export async function fullStoreTable({ folder, quick }: { folder: string; quick: boolean }): Promise<string> {
  const sizes = [2048, quick ? 10_240 : 204_800] as const;
  const sides = await Promise.all(
    sizes.map(async (size) => {
      const store = await openSqliteStore(join(folder, `${size}.db`));
      return { store, work: operations(store, await fill(store, size)) };
    }),
  );
  const rows: string[][] = [];
  for (const name of names) rows.push([name, formatSpread(await ratioAcross(name, sides))]);
  for (const { store } of sides) await store.close();
  const [few, many] = sizes.map((size) => size.toLocaleString('en-US'));
  return markdownTable(['what the store does', `with ${many} certificates, against ${few}`], rows);
}
