import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { runProgram } from './run-program.ts';

/** A Node on this machine that is too old for us, if there is one. */
export async function findOldNode(): Promise<string | undefined> {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/usr/local/bin'];
  for (const file of new Set(folders.map((folder) => join(folder, 'node')))) {
    if (!existsSync(file)) continue;
    const { status, stdout } = await runProgram(file, ['--version']);
    if (status === 0 && Number(/^v(\d+)\./.exec(stdout)?.[1] ?? 24) < 24) return file;
  }
  return undefined;
}
