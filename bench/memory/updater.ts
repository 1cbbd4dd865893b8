import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { packRoom } from '../measure/packed.ts';
import { treeResident } from '../measure/process-tree.ts';
import { startProgram } from '../measure/program.ts';
import type { Contender } from '../token/contenders.ts';

/** Resident memory of an installed updater that has fetched one small bundle, in mebibytes, once a round. */
export async function updaterResidents(
  folder: string,
  signet: Contender,
  { rounds, settleMs }: { readonly rounds: number; readonly settleMs: number },
): Promise<readonly number[]> {
  const program = join(packRoom(folder, 'updater'), 'bin', 'signet-updater.js');
  const server = await startProgram({ name: 'server', args: signet.args, logFile: join(folder, 'memory.log') }, 1);
  try {
    const { certificateFile, keyFile, caFile } = signet.token(server.baseUrl);
    const identity = { caBundle: caFile, certificate: certificateFile, key: keyFile };
    const residents: number[] = [];
    while (residents.length < rounds) {
      const config = join(folder, `updater-${residents.length}.yaml`);
      const settings = { ...identity, baseUrl: server.baseUrl, policyDir: `${config}.policy`, domains: ['catalog'] };
      writeFileSync(config, JSON.stringify(settings));
      residents.push(await residentOf([program, 'run', '--json', '--config', config], settleMs));
    }
    return residents;
  } finally {
    await server.stop();
  }
}

async function residentOf(args: readonly string[], settleMs: number): Promise<number> {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  try {
    const [line] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), ended]);
    if (!String(line).includes('"updated"')) throw new Error(`the updater said ${line}`);
    await delay(settleMs);
    return treeResident(child.pid ?? 0);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}
