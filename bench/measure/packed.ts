import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Contender } from '../token/contenders.ts';

const top = fileURLToPath(new URL('../..', import.meta.url));

/** Packs the server as it is installed. Answers its program. */
export function packServer(folder: string): string {
  return join(packRoom(folder, 'server'), 'bin', 'signet.js');
}

/** Packs a package as it is installed and unpacks it in the folder, beside the packages of others of this checkout. Answers where it is. */
export function packRoom(folder: string, room: string): string {
  const installed = join(folder, `installed-${room}`);
  const own = join(installed, 'signet');
  mkdirSync(own, { recursive: true });
  execFileSync('npm', ['pack', '--silent', '-w', room, '--pack-destination', installed], { cwd: top });
  const tarball = readdirSync(installed).find((file) => file.endsWith('.tgz'));
  if (tarball === undefined) throw new Error('nothing was packed');
  execFileSync('tar', ['-xzf', join(installed, tarball), '-C', own, '--strip-components=1']);
  symlinkSync(join(top, 'node_modules'), join(installed, 'node_modules'));
  return own;
}

/** The same server from its package instead of from the sources: flag and script stand first. */
export function asPacked(contender: Contender, program: string, name: string, ...more: readonly string[]): Contender {
  return { ...contender, name, args: [program, ...contender.args.slice(2), ...more] };
}
