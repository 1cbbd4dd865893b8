import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { daemonWork } from '@signet/updater/commands/run';
import { readDomainsFolder } from '@signet/updater/config/domains-folder';
import { readMapping } from '@signet/updater/config/yaml-file';
import { nodeFileSystem } from '@signet/updater/files/file-system';
import { PolicyDirectory } from '@signet/updater/files/policy-directory';
import { readKeysFile } from '@signet/updater/keys-file';
import { readSelected } from '@signet/updater/selected-domains';
import { State } from '@signet/updater/state';
import { readStatus } from '@signet/updater/updater-status';
import type { ExecutionContext } from 'ava';
import { temporaryFolder } from '#support/temp';
import { kinds, updaterWorld } from '../../updater/support/world.ts';
import { elsewhere, maximum, type Row } from '../row.ts';

/** A policy directory with a file of this size: JSON and blanks. */
function directoryWith(t: ExecutionContext, name: string, json: unknown, size: number): PolicyDirectory {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o700);
  writeFileSync(join(folder, name), JSON.stringify(json).padEnd(size));
  return new PolicyDirectory(folder, nodeFileSystem, undefined);
}

export const updaterRows: readonly Row[] = [
  maximum('updater/src/commands/run.ts', 'longestPause', async (ms) => {
    let [runs, now] = [0, 1000];
    const updater = {
      run: async () => {
        runs += 1;
        return { notBefore: 1000 + ms };
      },
    };
    const logger = { info: () => undefined, error: () => undefined };
    const work = daemonWork({ updater, logger, onReport: () => undefined, now: () => now } as never);
    const { signal } = new AbortController();
    await work(signal);
    now += ms - 1;
    await work(signal);
    return runs === 1;
  }),
  maximum('updater/src/config/domains-folder.ts', 'maxFiles', (count, t) => {
    const folder = temporaryFolder(t);
    for (let index = 0; index < count; index += 1) writeFileSync(join(folder, `${index}.yaml`), 'domains: []');
    return readDomainsFolder(folder).length === 0;
  }),
  maximum('updater/src/config/yaml-file.ts', 'maxFileBytes', (size, t) => {
    const file = join(temporaryFolder(t), 'updater.yaml');
    writeFileSync(file, 'a: 1'.padEnd(size));
    return readMapping(file)['a'] === 1;
  }),
  maximum('updater/src/keys-file.ts', 'maxKeysBytes', async (size, t) => {
    const directory = directoryWith(t, 'keys.json', { issuer: 'i', keys: [] }, size);
    return (await readKeysFile(directory))?.issuer === 'i';
  }),
  maximum('updater/src/run-once.ts', 'givenUpAfter', async (domains, t) => {
    const names = Array.from({ length: domains }, (_, index) => `d${index}`);
    const world = await updaterWorld(t, names);
    for (const domain of names) await world.publish({ domain });
    await world.runOnce();
    const before = world.server.requests.length;
    const { respond } = world.server;
    world.server.respond = (request, response) =>
      request.url.includes('/domain/') ? void response.destroy() : respond(request, response);
    const report = await world.runOnce();
    t.is(kinds(report)[`d${domains - 1}`], 'unreachable');
    const asked = world.server.requests.slice(before).map(({ url }) => /\/domain\/([^/]+)/.exec(url)?.[1]);
    return names.every((name) => asked.includes(name));
  }),
  maximum('updater/src/selected-domains.ts', 'maxFileBytes', async (size, t) => {
    const directory = directoryWith(t, 'domains.json', { domains: { catalog: {} } }, size);
    return (await readSelected(directory)).size === 1;
  }),
  maximum('updater/src/state.ts', 'maxStateBytes', async (size, t) => {
    const state = await State.load(directoryWith(t, 'state.json', { floors: {}, tags: {} }, size));
    return state.problem === undefined;
  }),
  maximum('updater/src/updater-status.ts', 'maxStatusBytes', async (size, t) => {
    const status = { server: 's', pid: 1, lastRun: '', keys: { kids: [] }, domains: {}, unconfigured: [] };
    return (await readStatus(directoryWith(t, 'status.json', status, size)))?.pid === 1;
  }),
  elsewhere(
    'updater/src/trusted-keys.ts',
    'longestMaxAge',
    'updater/keys.test.ts',
    'keys are fetched again by the next run, the issuer by the hour',
  ),
];
