import { chmodSync, chownSync, cpSync, globSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packAll } from '../release/pack.ts';
import { run } from '../release/run.ts';

/*
 * What the image holds: the libraries that Node needs, Node, and the programs with what they need. No shell, no package manager, nothing that can be
 * written.
 */

/** Node is linked to these and nothing else (`ldd`). */
const libraries = ['libc6', 'libgcc-s1', 'libstdc++6'] as const;
const programs = ['server', 'updater', 'example-provider'] as const;

/** The user of the programs: number and name. */
export const user = { id: 65_532, name: 'signet' } as const;

/** Writes the files of the image into the folder, from a checkout that is installed. */
export function writeFiles(repository: string, root: string): void {
  for (const folder of ['app', 'etc', 'tmp', 'var/lib/signet']) mkdirSync(join(root, folder), { recursive: true });
  writeLibraries(root);
  cpSync(join(repository, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node'), join(root, 'node'));
  writePrograms(repository, join(root, 'app'));
  writeFileSync(join(root, 'etc/passwd'), `${user.name}:x:${user.id}:${user.id}::/var/lib/signet:/none\n`);
  writeFileSync(join(root, 'etc/group'), `${user.name}:x:${user.id}:\n`);
  // glibc asks no name service but these.
  writeFileSync(join(root, 'etc/nsswitch.conf'), 'passwd: files\ngroup: files\nhosts: files dns\n');
  cpSync('/usr/lib/os-release', join(root, 'etc/os-release'));
  run('chmod', ['-R', 'u=rwX,go=rX', root]);
  chmodSync(join(root, 'tmp'), 0o1777);
  // The one folder that the programs own: a volume begins with it.
  chmodSync(join(root, 'var/lib/signet'), 0o700);
  chownSync(join(root, 'var/lib/signet'), user.id, user.id);
}

/** Packages of this machine's Debian, with what scanners read of them. */
function writeLibraries(root: string): void {
  const downloads = join(root, 'debs');
  const known = join(root, 'var/lib/dpkg/status.d');
  for (const folder of [downloads, known]) mkdirSync(folder, { recursive: true });
  run('apt-get', ['-o', 'APT::Sandbox::User=root', 'download', ...libraries], { cwd: downloads });
  for (const file of readdirSync(downloads)) {
    const deb = join(downloads, file);
    run('dpkg-deb', ['-x', deb, root]);
    const control = run('dpkg-deb', ['-f', deb]);
    writeFileSync(join(known, /^Package: (.+)$/m.exec(control)?.[1] ?? file), control);
  }
  // Conversions of character sets and documentation: Node needs neither.
  const unneeded = ['debs', 'usr/share/doc', 'usr/share/lintian', 'usr/share/gdb', 'usr/share/gcc'];
  for (const path of [...unneeded, ...globSync('usr/lib/*/gconv', { cwd: root })]) {
    rmSync(join(root, path), { recursive: true, force: true });
  }
}

/** The programs as they are packed, with the very versions of the lock file. */
function writePrograms(repository: string, app: string): void {
  for (const file of ['package.json', 'package-lock.json', ...globSync('*/package.json', { cwd: repository })]) {
    cpSync(join(repository, file), join(app, file));
  }
  const only = programs.flatMap((name) => ['-w', name]);
  run('npm', ['ci', '--silent', '--omit=dev', '--omit=peer', '--ignore-scripts', ...only], { cwd: app });
  const packed = join(app, 'packed');
  packAll(packed, programs);
  for (const name of programs) {
    const [file = ''] = globSync(`signet-${name}-[0-9]*.tgz`, { cwd: packed });
    run('tar', ['-xzf', join(packed, file), '-C', join(app, name), '--strip-components=1']);
  }
  rmUnneeded(app);
}

/** What no program loads: types, maps, sources in other languages, libraries for other machines, and the packages that are no programs. */
function rmUnneeded(app: string): void {
  const native = 'node_modules/better-sqlite3';
  const others = globSync(`${native}/prebuilds/*`, { cwd: app }).filter(
    (path) => !path.endsWith(`/linux-${process.arch}.node`),
  );
  const named = [
    'packed',
    'policy-engine',
    'client',
    'test',
    'bench',
    `${native}/deps`,
    `${native}/src`,
    'node_modules/.package-lock.json',
  ];
  const found = globSync('**/*.{map,d.ts,d.mts,d.cts}', { cwd: app });
  for (const path of [...named, ...others, ...found]) rmSync(join(app, path), { recursive: true, force: true });
}
