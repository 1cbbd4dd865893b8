import { appendFileSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import type { Contender } from '../token/contenders.ts';
import { createSignet } from '../token/signet.ts';
import { fillStore, type StoreSize } from './fill-store.ts';

/** A server's home whose store is filled. */
export interface FilledHome {
  readonly size: StoreSize;
  readonly storeFile: string;
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
function partOf(share: number): StoreSize {
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

/** Makes a home as an operator does, and fills its store. */
export async function createHome(folder: string, size: StoreSize, refreshIntervalMs: number): Promise<FilledHome> {
  const own = join(folder, String(size.domains));
  mkdirSync(own);
  const server = await createSignet(own);
  appendFileSync(join(own, 'signet', 'signet.yaml'), `\nsnapshot:\n  refreshIntervalMs: ${refreshIntervalMs}\n`);
  const storeFile = join(own, 'signet', 'data', 'signet.db');
  const store = await openSqliteStore(storeFile);
  await fillStore(store, size);
  await store.close();
  return { size, storeFile, megabytes: statSync(storeFile).size / 2 ** 20, server };
}
