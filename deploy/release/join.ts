import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

/*
 * Joins the modules of the server, and those of ours that it uses, into few files: Node takes a third of a millisecond for each module that a
 * program loads, and memory. What others have written stays in packages of its own, where scanners and updates find it.
 */

const top = fileURLToPath(new URL('../..', import.meta.url));
const server = join(top, 'server');

/** Those that are started: the rest lies in chunks beside them. */
const programs = ['main', 'impact-process', 'dev/end-with-parent'] as const;

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
}

async function joinServer(): Promise<void> {
  const { dependencies }: Manifest = JSON.parse(readFileSync(join(server, 'package.json'), 'utf8'));
  const outdir = join(server, 'joined');
  rmSync(outdir, { recursive: true, force: true });
  await build({
    absWorkingDir: server,
    entryPoints: programs.map((name) => `src/${name}.ts`),
    outbase: 'src',
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    conditions: ['@signet/source'],
    external: Object.keys(dependencies),
    logLevel: 'warning',
  });
}

if (import.meta.main) await joinServer();
