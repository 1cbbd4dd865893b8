import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { joinPackages } from './join-packages.ts';

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

/**
 * `signet serve` is joined apart from the other commands: what they have in common would lie in a hundred chunks, one for each set of commands. INVARIANT: it shows
 * its own errors: a class that the other programs have is another one.
 */
const serve: Plugin = {
  name: 'serve',
  setup({ onResolve }) {
    onResolve({ filter: /\/cli\/serve\.ts$/ }, () => ({ path: './serve.js', external: true }));
  },
};

async function joinServer(): Promise<void> {
  const { dependencies }: Manifest = JSON.parse(readFileSync(join(server, 'package.json'), 'utf8'));
  const outdir = join(server, 'joined');
  rmSync(outdir, { recursive: true, force: true });
  const options: BuildOptions = {
    absWorkingDir: server,
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
  };
  await build({ ...options, entryPoints: programs.map((name) => `src/${name}.ts`), plugins: [serve] });
  await build({ ...options, entryPoints: [{ in: 'src/cli/serve.ts', out: 'serve' }] });
  joinPackages(outdir);
}

if (import.meta.main) await joinServer();
