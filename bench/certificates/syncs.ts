import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('./lone-work.ts', import.meta.url));

export type LoneWork = 'refresh' | 'register';

/** Number of disk syncs for one of these alone, counted by strace; undefined where that is not installed. */
export function syncsOfLone(work: LoneWork, folder: string, count: number): number | undefined {
  if (spawnSync('strace', ['-V']).status !== 0) return undefined;
  const syncs = (times: number): number => {
    const out = join(folder, `syncs-${work}-${times}.txt`);
    // The preparation is the same in both runs.
    const node = [process.execPath, '--conditions=@signet/source', script, folder, work, String(times), String(count)];
    execFileSync('strace', ['-f', '-qq', '-e', 'trace=fsync,fdatasync,sync_file_range,msync', '-o', out, ...node]);
    return readFileSync(out, 'utf8').match(/\b(?:fsync|fdatasync|sync_file_range|msync)\(/g)?.length ?? 0;
  };
  return (syncs(count) - syncs(0)) / count;
}
