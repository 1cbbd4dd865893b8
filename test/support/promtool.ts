import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where a program is on the search path; undefined when it is not installed. */
function installed(name: string): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export const promtoolFile = installed('promtool');
export const prometheusFile = installed('prometheus');

/** Said once by a test that needs them. */
export const missingPrometheus =
  'skipped: promtool and prometheus are not installed (Debian: apt-get install prometheus)';

/** Runs `promtool`; its status, and both of its streams. */
export function promtool(
  args: readonly string[],
  input?: string,
): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync(promtoolFile ?? 'promtool', [...args], {
    encoding: 'utf8',
    ...(input !== undefined && { input }),
  });
  return { status, output: `${stdout}${stderr}` };
}
