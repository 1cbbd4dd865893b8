import { readdirSync, readFileSync } from 'node:fs';

/**
 * Nanoseconds that all threads of a process have spent on a processor, as the kernel's scheduler counts them
 * (Linux, `/proc/PID/task/TID/schedstat`, first field).
 */
export function processCpuNanoseconds(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  let total = 0;
  for (const thread of readdirSync(tasks)) {
    total += Number(readFileSync(`${tasks}/${thread}/schedstat`, 'utf8').split(' ', 1)[0]);
  }
  return total;
}
