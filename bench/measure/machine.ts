import { cpus, totalmem } from 'node:os';

/** The machine in one line, without its name. */
export function describeMachine(): string {
  const processors = cpus();
  const memory = Math.round(totalmem() / 2 ** 30);
  return `${processors[0]?.model ?? 'unknown processor'}, ${processors.length} processors, ${memory} GiB, ${process.platform}, Node ${process.version}`;
}
