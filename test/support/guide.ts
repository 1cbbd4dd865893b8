import { join } from 'node:path';
import { signetScript } from './dev-world.ts';
import { type Finished, runProgram } from './run-program.ts';

/** A block of commands of a guide; `stopped` ones run without the system, after which it is started again. */
export interface Block {
  readonly text: string;
  readonly kind: '' | 'refused' | 'stopped';
}

/** The blocks of a guide that are commands and are run; not those below `<!-- not run: reason -->`. */
export function blocksOf(markdown: string): Block[] {
  const run = markdown.replaceAll(/^<!-- not run: [^\n]+ -->\n+```.*?^```$/gms, '');
  return [...run.matchAll(/^```sh ?(refused|stopped)?\n(.*?)^```$/gms)].map(([, kind = '', text = '']) => ({
    text,
    kind: kind === 'refused' || kind === 'stopped' ? kind : '',
  }));
}

/** Runs a block as its reader would, in `folder`, against the world whose data is in `data`. */
export function runBlock(folder: string, data: string, text: string): Promise<Finished> {
  const signet = `signet() { '${process.execPath}' '${signetScript}' "$@"; }\n`;
  // Nested shell: the first one takes the pipe for a network connection and reads the machine's startup files.
  const env = { ...process.env, SHLVL: '1', SIGNET_CONFIG: join(data, 'signet.yaml') };
  return runProgram('/bin/bash', ['-euo', 'pipefail', '-c', signet + text], { cwd: folder, env });
}
