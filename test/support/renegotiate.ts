import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ExecutionContext } from 'ava';
import { runProgram } from './run-program.ts';
import { temporaryFolder } from './temp.ts';

/** PEM texts. */
export interface ClientFiles {
  readonly pem: string;
  readonly key: string;
}

export interface Renegotiation {
  /** True if the server took part. */
  readonly succeeded: boolean;
  /** The statuses of the answers before and after. */
  readonly statuses: readonly number[];
  /** Their bodies. */
  readonly bodies: readonly string[];
}

/** Compiles the client in C (`renegotiate.c`), which needs a C compiler and the headers of OpenSSL. */
export async function compileRenegotiation(t: ExecutionContext): Promise<string> {
  const program = join(temporaryFolder(t), 'renegotiate');
  const source = fileURLToPath(new URL('renegotiate.c', import.meta.url));
  await promisify(execFile)('cc', ['-o', program, source, '-lssl', '-lcrypto']);
  return program;
}

/** Asks `path` with the first certificate, renegotiates with the second, and asks again on the same connection. */
export async function renegotiate(
  t: ExecutionContext,
  port: number,
  path: string,
  [first, second]: readonly [ClientFiles, ClientFiles],
  headers: Readonly<Record<string, string>> = {},
): Promise<Renegotiation> {
  const program = await compileRenegotiation(t);
  const folder = temporaryFolder(t);
  const files = [first, second].flatMap(({ pem, key }, place) => {
    const names = [join(folder, `${place}.cert.pem`), join(folder, `${place}.key.pem`)] as const;
    writeFileSync(names[0], pem);
    writeFileSync(names[1], key);
    return names;
  });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${lines.join('')}\r\n`;
  const { status, stdout, stderr } = await runProgram(program, [String(port), request, ...files]);
  if (status !== 0 && status !== 1) throw new Error(`the client in C failed: ${stderr}`);
  return {
    succeeded: status === 0,
    statuses: [...stdout.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, code]) => Number(code)),
    bodies: stdout
      .split(/^HTTP\/1\.1 /m)
      .slice(1)
      .map((answer) => (answer.split('\r\n\r\n')[1] ?? '').split('\n--')[0]?.trim() ?? ''),
  };
}
