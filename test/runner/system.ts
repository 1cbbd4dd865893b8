/* The system tests, with programs as they are released: files that are joined once start in half the processor time of the sources. */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, resolve } from 'node:path';

const pack = new URL('../../deploy/release/pack.ts', import.meta.url).href;
const { packAll }: typeof import('../../deploy/release/pack.ts') = await import(pack);
// In the repository, whose packages the programs import.
const cache = resolve('node_modules/.cache');
mkdirSync(cache, { recursive: true });
const prefix = mkdtempSync(join(cache, 'programs-'));
// Other users run programs as well.
chmodSync(prefix, 0o755);
process.once('exit', () => rmSync(prefix, { recursive: true }));
const programs = ['server', 'updater', 'example-provider'] as const;
const tarballs = packAll(prefix, programs);
for (const room of programs) {
  const folder = join(prefix, 'lib/node_modules/@signet', room);
  mkdirSync(folder, { recursive: true });
  const tarball = tarballs.find((file) => file.startsWith(`signet-${room}-`)) ?? '';
  execFileSync('tar', ['-xzf', join(prefix, tarball), '-C', folder, '--strip-components=1']);
}
process.env['SIGNET_TEST_PREFIX'] = prefix;
// Tests wait for timers of the programs.
process.env['SIGNET_TEST_PROCESSES'] ??= String(Math.ceil(availableParallelism() * 1.5));
await import('./run.ts');
