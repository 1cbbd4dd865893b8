import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { processCpuNanoseconds } from '../measure/process-cpu.ts';
import { type Program, startProgram } from '../measure/program.ts';
import type { FilledHome } from './stores.ts';

/** The processor on which servers run. */
const serverProcessor = 1;

export interface ColdStart {
  /** From the start of the process until it answers. */
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly residentMebibytes: number;
  readonly peakMebibytes: number;
}

export function startServer({ server }: FilledHome, folder: string): Promise<Program> {
  const options = { name: server.name, args: server.args, logFile: join(folder, 'server.log') };
  return startProgram(options, serverProcessor);
}

/** Starts `signet serve` and ends it again. */
export async function coldStart(home: FilledHome, folder: string): Promise<ColdStart> {
  const start = performance.now();
  const program = await startServer(home, folder);
  try {
    const seconds = (performance.now() - start) / 1000;
    const cpuSeconds = processCpuNanoseconds(program.pid) / 1e9;
    return { seconds, cpuSeconds, ...memoryOf(program.pid) };
  } finally {
    await program.stop();
  }
}

/** Memory of the process by the kernel (Linux, `/proc/PID/status`). */
function memoryOf(pid: number): Pick<ColdStart, 'residentMebibytes' | 'peakMebibytes'> {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mebibytes = (field: string) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) / 1024;
  return { residentMebibytes: mebibytes('VmRSS'), peakMebibytes: mebibytes('VmHWM') };
}
