import { spawn } from 'node:child_process';
import type { Environment } from '../../config/env.ts';

const commands: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
  linux: ['xdg-open'],
};

/** Command that opens an address in the browser of the user at this machine; undefined without one. */
export function browserCommand(platform: NodeJS.Platform, environment: Environment): readonly string[] | undefined {
  const hasDisplay = Boolean(environment['DISPLAY'] || environment['WAYLAND_DISPLAY']);
  return platform === 'linux' && !hasDisplay ? undefined : commands[platform];
}

/** Opens an address; whether that worked is seen by the answer that comes. */
export function openBrowser(command: readonly string[], address: string): void {
  const [program = '', ...args] = command;
  const child = spawn(program, [...args, address], { detached: true, stdio: 'ignore' });
  child.on('error', () => undefined);
  child.unref();
}
