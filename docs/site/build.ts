import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { served, shown } from './navigation.ts';
import { operationPages } from './operations.ts';
import { writePackagePages } from './packages.ts';
import { withSecurityPolicy } from './security-policy.ts';

/* Builds `docs/` as static pages in `docs/dist/`: installs the generator where it is not there, writes the pages that are made of other files. */

const here = import.meta.dirname;
const top = join(here, '../..');
const made = join(here, 'made');
const site = join(here, '../dist');

function run(command: string, args: readonly string[]): void {
  execFileSync(command, args, { cwd: here, stdio: 'inherit' });
}

/** Installs the generator again when the lock file is newer than what is installed. */
function install(): void {
  const installed = join(here, 'node_modules/.package-lock.json');
  const isCurrent =
    existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(here, 'package-lock.json')).mtimeMs;
  if (!isCurrent) run('npm', ['ci']);
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(made, path)), { recursive: true });
  writeFileSync(join(made, path), text);
}

/** Pages and files that are made of what is elsewhere in the repository. */
function makePages(): void {
  rmSync(made, { recursive: true, force: true });
  for (const [source, page] of Object.entries(shown)) write(`pages/${page}`, readFileSync(join(top, source), 'utf8'));
  for (const [source, path] of Object.entries(served)) write(`public/${path}`, readFileSync(join(top, source), 'utf8'));
  const document = JSON.parse(readFileSync(join(top, 'docs/openapi.json'), 'utf8'));
  for (const [name, text] of operationPages(document)) write(`pages/reference/${name}`, text);
  const typedoc = join(here, 'node_modules/typedoc/bin/typedoc');
  writePackagePages(top, join(made, 'pages/reference'), (args) => run(process.execPath, [typedoc, ...args]));
  cpSync(join(here, 'icon.svg'), join(made, 'public/icon.svg'));
}

function addSecurityPolicies(): void {
  for (const page of globSync('**/*.html', { cwd: site })) {
    const file = join(site, page);
    writeFileSync(file, withSecurityPolicy(readFileSync(file, 'utf8')));
  }
}

install();
makePages();
run(process.execPath, [join(here, 'node_modules/vitepress/bin/vitepress.js'), 'build', '.']);
addSecurityPolicies();
