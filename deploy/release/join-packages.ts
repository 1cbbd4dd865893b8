import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire, findPackageJSON } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, buildSync } from 'esbuild';

/*
 * A server takes these packages of others whole, and each is tens to hundreds of modules, which Node finds, reads and links one by one. In the package of
 * the server each is a file for each of its entry points, in a package of its own name, version and licence: what runs is what scanners and audits find.
 */

const server = fileURLToPath(new URL('../../server/', import.meta.url));

/** With the entry points that a server asks for; that of the translations is there as V8 keeps as much memory as the largest file takes to be read. */
const joined = {
  jose: ['.'],
  kysely: ['.', './migration'],
  yaml: ['.'],
  zod: ['.', './locales'],
} as const;

interface Manifest {
  readonly type?: 'module' | 'commonjs';
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** What is said of a package besides what it consists of. */
const described = ['name', 'version', 'description', 'license', 'author', 'homepage', 'repository', 'type'];

/** Writes them where what lies in the folder finds them. */
export function joinPackages(into: string): void {
  for (const [name, entries] of Object.entries(joined)) joinPackage(name, entries, join(into, 'node_modules', name));
}

function joinPackage(name: string, entries: readonly string[], into: string): void {
  const file = findPackageJSON(name, join(server, 'package.json'));
  if (file === undefined) throw new Error(`\`${name}\` is not installed: npm ci`);
  const manifest: Manifest = JSON.parse(readFileSync(file, 'utf8'));
  if (Object.keys(manifest.dependencies ?? {}).length > 0) throw new Error(`\`${name}\` needs other packages`);
  mkdirSync(into, { recursive: true });
  for (const text of readdirSync(dirname(file)).filter((each) => /^(licen[cs]e|notice)/i.test(each))) {
    cpSync(join(dirname(file), text), join(into, text));
  }
  const options = {
    absWorkingDir: server,
    bundle: true,
    platform: 'node',
    target: 'node24',
    // Names stay, and lines that can be read; what is left out is read at each start, and kept.
    minifyWhitespace: true,
    lineLimit: 160,
    logLevel: 'warning',
  } as const;
  buildSync({ ...options, ...(manifest.type === 'module' ? modules(name, entries, into) : commonJs(name, into)) });
  const exports = Object.fromEntries(entries.map((entry) => [entry, `./${nameOf(entry)}.js`]));
  const kept = Object.entries(manifest).filter(([key]) => described.includes(key));
  const text = JSON.stringify({ ...Object.fromEntries(kept), exports }, undefined, 2);
  writeFileSync(join(into, 'package.json'), `${text}\n`);
}

/** `.` is `index`, `./locales` is `locales`. */
const nameOf = (entry: string): string => (entry === '.' ? 'index' : entry.slice(2));

function modules(name: string, entries: readonly string[], outdir: string): BuildOptions {
  const entryPoints = entries.map((entry) => ({ in: `${name}${entry.slice(1)}`, out: nameOf(entry) }));
  return { entryPoints, outdir, format: 'esm', splitting: true };
}

/** Its names are written out: Node reads them in the text to know what can be imported. */
function commonJs(name: string, into: string): BuildOptions {
  const names = Object.keys(createRequire(join(server, 'package.json'))(name));
  const contents = `export { ${names.join(', ')} } from '${name}';`;
  return { stdin: { contents, resolveDir: server }, outfile: join(into, 'index.js'), format: 'cjs' };
}
