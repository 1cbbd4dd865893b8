import type { ServerConfig } from '../../config/config.ts';
import { DomainError } from '../../errors.ts';
import { openStore } from '../../store/open.ts';
import { inspectPostgres } from '../../store/postgres/inspect.ts';
import { estimatedBytes, memoryHere, memoryProblem } from '../memory.ts';
import { checkDatabase } from './database-checks.ts';
import type { Finding } from './finding.ts';
import { checkAddresses, checkRootKey } from './setup-checks.ts';

/**
 * Findings about the host of a server with this configuration: its database, the memory of this machine, and pending steps of its setup. Nothing
 * is changed.
 */
export async function checkHost(config: ServerConfig): Promise<readonly Finding[]> {
  const { store } = config;
  const findings = store.kind === 'postgres' ? await checkPostgres(store, config.workers) : [];
  return [...findings, await checkMemory(config), checkAddresses(config), checkRootKey(config)];
}

/** Facts about the database, or why it cannot be queried. */
export async function checkPostgres(
  settings: Extract<ServerConfig['store'], { kind: 'postgres' }>,
  workers: number,
): Promise<readonly Finding[]> {
  try {
    return checkDatabase(await inspectPostgres(settings), { ...settings, workers });
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const advice =
      'check that the database runs, and that `store.postgres` has its primary, user, credentials and `ca`';
    return [{ check: 'database', state: 'failed', found: error.message, advice }];
  }
}

async function checkMemory({ store: place, workers }: ServerConfig): Promise<Finding> {
  const check = 'memory';
  try {
    const store = await openStore(place, { readonly: true });
    const members = await store.memberCount().finally(() => store.close());
    const problem = memoryProblem({ workers, bytesEach: estimatedBytes(members) }, memoryHere());
    if (problem !== undefined) return { check, state: 'warning', ...problem };
    return { check, state: 'ok', found: `it is sufficient for ${members.toLocaleString('en-US')} members` };
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    const advice = 'correct the store first: the memory of a server depends on its content';
    return { check, state: 'warning', found: `the store cannot be read: ${error.message}`, advice };
  }
}
