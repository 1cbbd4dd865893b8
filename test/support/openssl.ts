import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Result of an `openssl` command; `ok` when it ended with 0. */
export interface OpensslAnswer {
  readonly ok: boolean;
  readonly output: string;
}

/** Runs `openssl` in a folder; both streams are in `output`. */
export async function openssl(folder: string, ...args: readonly string[]): Promise<OpensslAnswer> {
  try {
    const { stdout, stderr } = await run('openssl', [...args], { cwd: folder, maxBuffer: 64 * 1024 * 1024 });
    return { ok: true, output: stdout + stderr };
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    return { ok: false, output: stdout + stderr };
  }
}
