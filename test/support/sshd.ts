import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/* A real sshd and a real ssh on loopback. */

const sshd = ['/usr/sbin/sshd', '/usr/local/sbin/sshd', '/usr/bin/sshd'].find((path) => existsSync(path));

export const hasSshd: boolean = sshd !== undefined && spawnSync('ssh', ['-V']).error === undefined;

/** User who runs the tests, and may log in to this machine. */
export const login: string = userInfo().username;

/** The files of an sshd. */
export interface SshdFiles {
  readonly folder: string;
  readonly hostKey: string;
  readonly hostCertificate: string;
  /** `TrustedUserCAKeys`. */
  readonly trusted: string;
  /** `RevokedKeys`; read at each login. */
  readonly revoked: string;
  /** Principals that may log in. */
  readonly principals: readonly string[];
}

/** Starts sshd; it ends with the test. */
export async function startSshd(t: ExecutionContext, files: SshdFiles): Promise<{ port: number; log(): string }> {
  const port = await freePort();
  const principals = join(files.folder, 'principals');
  writeFileSync(principals, `${files.principals.join('\n')}\n`);
  const config = join(files.folder, 'sshd_config');
  const lines = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${files.hostKey}`,
    `HostCertificate ${files.hostCertificate}`,
    `TrustedUserCAKeys ${files.trusted}`,
    `AuthorizedPrincipalsFile ${principals}`,
    `RevokedKeys ${files.revoked}`,
    'AuthorizedKeysFile none',
    'AuthenticationMethods publickey',
    'PasswordAuthentication no',
    'KbdInteractiveAuthentication no',
    'PermitRootLogin prohibit-password',
    'UsePAM no',
    // The folders above belong to whoever runs the test.
    'StrictModes no',
    'PidFile none',
    'LogLevel VERBOSE',
  ];
  writeFileSync(config, lines.join('\n'));
  // Where sshd parts with its privileges; only root may and need make it.
  if (process.getuid?.() === 0) mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const child = spawn(sshd ?? '', ['-D', '-e', '-f', config], { stdio: ['ignore', 'ignore', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  const log: string[] = [];
  child.stderr.setEncoding('utf8').on('data', (text: string) => log.push(text));
  await until('sshd listens', () => {
    if (child.exitCode !== null) throw new Error(`sshd ended: ${log.join('')}`);
    return log.join('').includes(`Server listening on 127.0.0.1 port ${port}`);
  });
  return { port, log: () => log.join('') };
}

/** Login options. */
export interface SshLogin {
  readonly port: number;
  readonly key: string;
  /** Without it `ssh` looks for `<key>-cert.pub`, as it always does. */
  readonly certificate?: string;
  readonly knownHosts: string;
  /** The name by which the host is known. */
  readonly host: string;
}

/** Logs in as `ssh` does; answers what the command printed, and what ssh said. */
export async function logIn({ port, key, certificate, knownHosts, host }: SshLogin) {
  const options = [
    'BatchMode=yes',
    'IdentitiesOnly=yes',
    'IdentityAgent=none',
    ...(certificate === undefined ? [] : [`CertificateFile=${certificate}`]),
    `UserKnownHostsFile=${knownHosts}`,
    'GlobalKnownHostsFile=none',
    'StrictHostKeyChecking=yes',
    `HostKeyAlias=${host}`,
    'HostKeyAlgorithms=ssh-ed25519-cert-v01@openssh.com',
    'PreferredAuthentications=publickey',
    'ConnectTimeout=10',
  ].flatMap((option) => ['-o', option]);
  const args = ['-F', 'none', '-p', String(port), '-i', key, ...options, `${login}@127.0.0.1`, 'echo let in'];
  const child = spawn('ssh', args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 300_000 });
  let [printed, said] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await new Promise((resolve) => child.on('close', resolve));
  return { printed, said };
}
