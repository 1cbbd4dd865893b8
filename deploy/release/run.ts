import { spawnSync } from 'node:child_process';

/** Runs a program and answers what it printed. Throws with what it complained of when it fails. */
export function run(program: string, args: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { ...options, encoding: 'utf8' });
  if (error !== undefined) throw new Error(`\`${program}\` cannot be run: ${error.message}`);
  if (status !== 0) throw new Error(`\`${program} ${args.join(' ')}\` failed (${status}):\n${stdout}${stderr}`);
  return stdout;
}
