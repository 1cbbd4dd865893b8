import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { StorePlace } from '@signet/server/config/store-place';
import { openStore } from '@signet/server/store/open';
import type { Contender } from '../token/contenders.ts';
import { createSignet, signetName } from '../token/signet.ts';
import { fillStore, type StoreSize } from './fill-store.ts';

/** A server's home whose store is filled. */
export interface FilledHome {
  readonly size: StoreSize;
  readonly place: StorePlace;
  readonly megabytes: number;
  readonly server: Contender;
}

const whole: StoreSize = {
  domains: 10_000,
  roles: 100_000,
  members: 1_000_000,
  assertions: 200_000,
  largestRole: 200_000,
};

/** The size that is aimed at, or a part of it. */
export function partOf(share: number): StoreSize {
  return {
    domains: whole.domains * share,
    roles: whole.roles * share,
    members: whole.members * share,
    assertions: whole.assertions * share,
    largestRole: whole.largestRole * share,
  };
}

/** A hundredth, a tenth and all of the size that is aimed at; a short run leaves the last out. */
export function sizesOf(quick: boolean): readonly StoreSize[] {
  return (quick ? [0.01, 0.1] : [0.01, 0.1, 1]).map(partOf);
}

/** A PostgreSQL store of a home, in its configuration. */
export function storeOption(place: StorePlace & { readonly kind: 'postgres' }, listen = true): string {
  const { hosts, database, user } = place;
  return `store: { kind: postgres, postgres: ${JSON.stringify({ hosts, database, user, listen })} }\n`;
}

export interface HomeOptions {
  readonly refreshIntervalMs: number;
  readonly name?: string;
  /** Default: a file of SQLite in the home. */
  readonly place?: StorePlace & { readonly kind: 'postgres' };
}

/** Makes a home as an operator does, and fills its store. */
export async function createHome(folder: string, size: StoreSize, options: HomeOptions): Promise<FilledHome> {
  const { refreshIntervalMs, name = signetName, place } = options;
  const own = join(folder, place === undefined ? String(size.domains) : place.database);
  mkdirSync(own);
  const file = join(own, 'signet', 'data', 'signet.db');
  const filled: StorePlace = place ?? { kind: 'sqlite', file };
  const more = `snapshot: { refreshIntervalMs: ${refreshIntervalMs} }\n`;
  const server = await createSignet(own, place === undefined ? more : more + storeOption(place), name);
  const store = await openStore(filled);
  await fillStore(store, size);
  await store.close();
  return { size, place: filled, megabytes: place === undefined ? statSync(file).size / 2 ** 20 : Number.NaN, server };
}
