import { globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { anchorOf } from './links.ts';
import { splitLongPages } from './split-pages.ts';

/* Pages of what packages export, by their types and docstrings. */

/** The packages that people import, each with the folder of its pages below `reference/`. */
const packages = ['policy-engine', 'client'];

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | { readonly '@signet/source': string }>>;
}

/** The entries of a package that are promised to others, each with its source file. */
function entriesOf({ name, exports }: Manifest): (readonly [entry: string, source: string])[] {
  return Object.entries(exports).flatMap(([key, target]) => {
    const isPromised = typeof target !== 'string' && !key.startsWith('./internal') && !key.includes('*');
    return isPromised ? [[`${name}${key.slice(1)}`, target['@signet/source'].slice('./'.length)] as const] : [];
  });
}

const settings = [
  ...['--plugin', 'typedoc-plugin-markdown', '--router', 'module', '--entryFileName', 'modules'],
  ...['--readme', 'none', '--skipErrorChecking', '--disableSources', '--hideBreadcrumbs', '--hidePageHeader'],
  ...['--excludeInternal', '--excludeExternals', '--sanitizeComments', '--logLevel', 'Error'],
  // Members as rows of tables: with a heading for each, pages are three times as long.
  ...['interfaceProperties', 'classProperties', 'typeAliasProperties', 'typeDeclaration', 'propertyMembers'].flatMap(
    (members) => [`--${members}Format`, 'table'],
  ),
  ...['--parametersFormat', 'table'],
];

/** The generator numbers the headings of a type and a value of one name, which have one heading: leads the links to that. */
function repairAnchors(folder: string): void {
  const texts = new Map(
    globSync('**/*.md', { cwd: folder }).map((page) => [join(folder, page), readFileSync(join(folder, page), 'utf8')]),
  );
  const headings = (text: string) => [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
  for (const [file, text] of texts) {
    const repaired = text.replaceAll(/\]\(([\w./-]*)#(\w+)-1\)/g, (link, page: string, anchor: string) => {
      const target = texts.get(page === '' ? file : join(dirname(file), page)) ?? '';
      return headings(target).filter((each) => each === anchor).length > 1 ? link : `](${page}#${anchor})`;
    });
    writeFileSync(file, repaired);
  }
}

/** The page that the generator makes of a source file. */
const pageOf = (source: string): string => `${source.replace(/^src\//, '').replace(/(?:(?<=.)\/index)?\.ts$/, '')}.md`;

/** The page of the main entry of a package. */
const main = 'main.md';

/** Renames the page of the main entry: a page `index` would have the address of the folder, which is that of the list of entries. */
function moveMain(folder: string): void {
  renameSync(join(folder, 'index.md'), join(folder, main));
  for (const page of globSync('**/*.md', { cwd: folder })) {
    const file = join(folder, page);
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replaceAll(/\]\(((?:\.\.\/)*)index\.md/g, `]($1${main}`));
  }
}

/** Writes the pages below `folder`; `typedoc` runs that program with arguments. */
export function writePackagePages(top: string, folder: string, typedoc: (args: readonly string[]) => void): void {
  for (const room of packages) {
    const manifest: Manifest = JSON.parse(readFileSync(join(top, room, 'package.json'), 'utf8'));
    const entries = entriesOf(manifest);
    const out = join(folder, room);
    const sources = entries.flatMap(([, source]) => ['--entryPoints', join(top, room, source)]);
    typedoc([...sources, '--tsconfig', join(top, room, 'tsconfig.json'), '--out', out, ...settings]);
    const links = entries.map(([entry, source]) => {
      const page = pageOf(source);
      const text = readFileSync(join(out, page), 'utf8');
      writeFileSync(join(out, page), text.replace(/^# .*$/m, `# ${entry}`));
      return `- [\`${entry}\`](${page === 'index.md' ? main : page})\n`;
    });
    rmSync(join(out, 'modules.md'));
    moveMain(out);
    repairAnchors(out);
    splitLongPages(out);
    const index = `# API of ${manifest.name}\n\nWhat each entry of the package exports.\n\n${links.join('')}`;
    writeFileSync(join(out, 'README.md'), index);
  }
}
