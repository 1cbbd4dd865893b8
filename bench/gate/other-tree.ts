import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/** A checkout of another commit beside this one. */
export interface OtherTree {
  readonly folder: string;
  remove(): void;
}

/** Checks `commit` out into `folder`. Packages are shared with `top` where both trees want the same, else they are installed. */
export function checkOut(top: string, commit: string, folder: string): OtherTree {
  execFileSync('git', ['worktree', 'add', '--quiet', '--detach', folder, commit], { cwd: top, stdio: 'inherit' });
  const remove = (): void => {
    execFileSync('git', ['worktree', 'remove', '--force', folder], { cwd: top, stdio: 'inherit' });
  };
  try {
    const lockOf = (tree: string) => readFileSync(join(tree, 'package-lock.json'), 'utf8');
    if (lockOf(top) === lockOf(folder)) sharePackages(top, folder);
    else execFileSync('npm', ['ci', '--silent'], { cwd: folder, stdio: 'inherit' });
  } catch (error) {
    remove();
    throw error;
  }
  return { folder, remove };
}

/** The installed packages of `top` in `folder`, but its own ones of the workspaces. */
function sharePackages(top: string, folder: string): void {
  const [from, to] = [join(top, 'node_modules'), join(folder, 'node_modules')];
  mkdirSync(join(to, '@signet'), { recursive: true });
  for (const name of readdirSync(from)) {
    if (name !== '@signet') symlinkSync(join(from, name), join(to, name));
  }
  for (const name of readdirSync(join(from, '@signet'))) {
    if (existsSync(join(folder, name))) symlinkSync(join(folder, name), join(to, '@signet', name));
  }
}
