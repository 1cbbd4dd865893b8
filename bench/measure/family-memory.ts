import { readdirSync, readFileSync } from 'node:fs';

/**
 * Bytes of memory that a process and all that it has started hold, each page counted in parts by those who share it (Linux,
 * `/proc/PID/smaps_rollup`, `Pss`).
 */
export function familyMemory(pid: number): number {
  const parents = new Map(processes().map((one) => [one, parentOf(one)]));
  const isOfFamily = (one: number | undefined): boolean =>
    one === pid || (one !== undefined && one > 1 && isOfFamily(parents.get(one)));
  return [...parents.keys()].filter(isOfFamily).reduce((sum, one) => sum + shareOf(one), 0);
}

function processes(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function parentOf(pid: number): number | undefined {
  const status = read(`/proc/${pid}/status`);
  const [, parent] = /^PPid:\s+(\d+)/m.exec(status) ?? [];
  return parent === undefined ? undefined : Number(parent);
}

function shareOf(pid: number): number {
  const [, kibibytes] = /^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`)) ?? [];
  return Number(kibibytes ?? 0) * 1024;
}

/** Empty for a process that has ended meanwhile. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
