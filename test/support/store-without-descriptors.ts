import { openSync } from 'node:fs';
import { parsePathElement, parsePrincipalName } from '@signet/policy-engine/names';
import { openSqliteStore } from '@signet/server/store/sqlite/open-sqlite';
import { domainContent } from './domains.ts';
import { saveDomain } from './save-domain.ts';

/* A process that changes a store when it may open no more files: `node store-without-descriptors.ts FILE`. Prints what failed, or `done`. */

const holder = parsePrincipalName('media.player');

/** Number of instances whose concurrent certificates change more than 64 KiB of the store. */
const instances = 3000;

async function changeWithoutDescriptors(file: string): Promise<void> {
  const store = await openSqliteStore(file);
  const intend = (number: number) => {
    const instanceId = parsePathElement(`i-${(number * 7919) % instances}`);
    const row = { serial: String(number), issuer: 'i', kind: 'instance', subject: 'media.player', holder } as const;
    return store.certificates.intend({ ...row, provider: holder, instanceId, notBefore: 0, notAfter: 99 }, 1);
  };
  const many = (from: number, count: number) =>
    Promise.all(Array.from({ length: count }, (_, index) => intend(from + index)));
  const rules = (action: string) =>
    Array.from({ length: 3000 }, (_, index) => `allow ${action} ${'clip'.repeat(9)}.${(index * 7919) % 3000} reader`);
  const save = (action: string) =>
    store.change({ actor: 'test' }, (change) =>
      saveDomain(change, domainContent('media', { roles: { reader: [] }, rules: rules(action) })),
    );
  await many(0, instances);
  await save('play');
  useUpDescriptors();
  await many(instances, 16);
  await save('stop');
  await store.close();
}

function useUpDescriptors(): void {
  try {
    for (;;) openSync('/dev/null', 'r');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EMFILE')) throw error;
  }
}

const [, script, file] = process.argv;
if (script === import.meta.filename && file !== undefined) {
  const outcome = await changeWithoutDescriptors(file).then(() => 'done', String);
  process.stdout.write(outcome);
}
