import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';

/*
 * Makes `joined/` of the package in the working directory, before npm packs it: its modules, and the modules of every package that its
 * `dependencies` do not list, in few files. Signet's own packages are not on a registry, so each package contains those that it uses.
 * npm installs `dependencies` as for any package; `bundleDependencies` are not used, as npm leaves them empty in a global installation.
 */

const top = fileURLToPath(new URL('../..', import.meta.url));

/** Third-party packages that are joined into the server: 300 modules, a fifth of the start of `signet serve`. Neither has dependencies. */
export const joinedPackages = ['jose', 'kysely'] as const;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly engines?: { readonly node?: string };
  readonly license: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
}

const readManifest = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));

/** Packages that are imported, so that they have types and an entry point for each path they export. */
const libraries: readonly string[] = ['policy-engine', 'client'];

/** Source modules of the room that become files of their own: started programs, or the entry points of a library. */
function entriesOf(room: string): string[] {
  if (room === 'server') return ['src/main.ts', 'src/impact-process.ts', 'src/dev/end-with-parent.ts'];
  if (!libraries.includes(room)) return ['src/main.ts'];
  const { exports = {} } = readManifest('.');
  return Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? [] : [entry['@signet/source']?.slice(2) ?? ''],
  );
}

/**
 * `signet serve` is joined separately from the other commands: modules that they share would end in a hundred chunks, one for each set of
 * commands. INVARIANT: it reports its own errors, as a class of the other programs is a different class.
 */
const serve: Plugin = {
  name: 'serve',
  setup({ onResolve }) {
    onResolve({ filter: /\/cli\/serve\.ts$/ }, () => ({ path: './serve.js', external: true }));
  },
};

/** Files of the server that are not modules: `ownAsset` finds them beside the joined ones. */
const assets = 'src/console/**/*.{css,svg}';

/** Statement that refuses an older Node than a library needs, in one line. A browser has no `process`. */
function nodeCheck({ name, engines }: Manifest): string {
  const [major = '', minor = '0'] = /\d+(?:\.\d+)?/.exec(engines?.node ?? '')?.[0].split('.') ?? [];
  const isOld = `n[0] < ${major} || (n[0] == ${major} && n[1] < ${minor})`;
  const error = `${name} needs Node.js ${major}.${minor} or newer, this is `;
  return `{ const n = globalThis.process?.versions?.node?.split("."); if (n && (${isOld})) throw new Error(${JSON.stringify(error)} + n.join(".")); }`;
}

async function joinRoom(room: string): Promise<void> {
  const outdir = 'joined';
  const manifest = readManifest('.');
  rmSync(outdir, { recursive: true, force: true });
  const options: BuildOptions = {
    outbase: 'src',
    outdir,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: libraries.includes(room) ? 'node22' : 'node24',
    ...(libraries.includes(room) && { banner: { js: nodeCheck(manifest) } }),
    conditions: ['@signet/source'],
    // Comments with the path of a source are the same in every checkout.
    preserveSymlinks: true,
    external: Object.keys(manifest.dependencies ?? {}),
    logLevel: 'warning',
  };
  const bundle = async (more: Pick<BuildOptions, 'entryPoints' | 'plugins'>): Promise<Metafile> => {
    const { metafile } = await build({ ...options, ...more, metafile: true });
    return metafile;
  };
  const metafiles = [await bundle({ entryPoints: entriesOf(room), plugins: [serve] })];
  if (room === 'server') metafiles.push(await bundle({ entryPoints: [{ in: 'src/cli/serve.ts', out: 'serve' }] }));
  if (room === 'server') for (const file of globSync(assets)) cpSync(file, join(outdir, relative('src', file)));
  writeLicences(room, metafiles);
}

/** Writes the licences of the third-party packages that were joined. Throws for a package that is not meant to be. */
function writeLicences(room: string, metafiles: readonly Metafile[]): void {
  const inputs = metafiles.flatMap(({ outputs }) =>
    Object.values(outputs).flatMap((output) => Object.keys(output.inputs)),
  );
  const found = inputs.flatMap((path) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  const names = [...new Set(found)].filter((name) => !name.startsWith('@signet/')).toSorted();
  const strange = names.filter((name) => !joinedPackages.some((each) => each === name) || room !== 'server');
  if (strange.length > 0) throw new Error(`not in \`dependencies\`, nor meant to be joined: ${strange.join(', ')}`);
  const texts = names.map((name) => {
    const folder = join(top, 'node_modules', name);
    const [file = ''] = globSync('LICEN[CS]E*', { cwd: folder });
    return `${name} ${readManifest(folder).version}\n\n${readFileSync(join(folder, file), 'utf8')}`;
  });
  if (texts.length > 0) writeFileSync('joined/THIRD-PARTY-LICENSES.txt', texts.join(`\n${'-'.repeat(80)}\n\n`));
}

/** Copies the declarations that the compiler made of a package. */
function joinTypes(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => /\.d\.ts$|^[^.]+$/.test(basename(path)) });
}

/** Copies the declarations of the engine into the client, whose own refer to them by path from then on. */
function joinEngineTypes(): void {
  const engine = join(top, 'policy-engine');
  joinTypes(join(engine, 'dist'), 'joined/policy-engine');
  const { exports = {} } = readManifest(engine);
  const typesOf = (subpath: string): string => {
    const entry = exports[`.${subpath}`];
    if (typeof entry !== 'object') throw new Error(`@signet/policy-engine${subpath} is not exported`);
    return join('joined/policy-engine', relative('joined', entry['types'] ?? ''));
  };
  for (const file of globSync('joined/**/*.d.ts', { exclude: ['joined/policy-engine/**'] })) {
    const text = readFileSync(file, 'utf8').replaceAll(/'@signet\/policy-engine([^']*)'/g, (_, subpath: string) => {
      const path = relative(dirname(file), typesOf(subpath)).replace(/\.d\.ts$/, '.js');
      return `'${path.startsWith('.') ? path : `./${path}`}'`;
    });
    writeFileSync(file, text);
  }
}

if (import.meta.main) {
  const room = basename(process.cwd());
  await joinRoom(room);
  if (libraries.includes(room)) joinTypes('dist', 'joined');
  if (room === 'client') joinEngineTypes();
}
