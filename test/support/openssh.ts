import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** True if the programs of OpenSSH that the tests compare with are installed. */
export const hasSshKeygen: boolean = spawnSync('ssh-keygen', ['-?']).error === undefined;

/** Runs `ssh-keygen`; answers its exit status and everything it said, times in UTC. */
export function sshKeygen(...args: string[]): { status: number | null; output: string } {
  const run = spawnSync('ssh-keygen', args, { encoding: 'utf8', env: { PATH: process.env['PATH'], TZ: 'UTC' } });
  return { status: run.status, output: `${run.stdout}${run.stderr}` };
}

/** Makes a key pair without a password in `folder`; answers the path of the private key and the public line. */
export function makeSshKey(folder: string, name: string, ...options: string[]): { file: string; line: string } {
  const file = join(folder, name);
  const { status, output } = sshKeygen('-q', '-N', '', '-C', `${name}@test`, '-f', file, ...options);
  if (status !== 0) throw new Error(`ssh-keygen made no key: ${output}`);
  return { file, line: readFileSync(`${file}.pub`, 'utf8') };
}
