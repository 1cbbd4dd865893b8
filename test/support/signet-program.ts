import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { loadConfig } from '@signet/server/config/config';
import type { PostgresSettings } from '@signet/server/config/store-place';
import { createSshAuthorityKey } from '@signet/server/ssh/ssh-authority';
import { openStore } from '@signet/server/store/open';
import { repository, signetScript } from './dev-world.ts';
import { type DomainSketch, domainContent } from './domain-sketch.ts';
import { createPki, type Pki } from './pki.ts';
import { type Finished, runProgram } from './run-program.ts';
import { saveDomain } from './save-domain.ts';
import { type Caller, type CallerOptions, caller, type Ending } from './start-server.ts';

/** A folder with all that the real `signet serve` needs, and its store with some domains. */
export interface Installation {
  readonly folder: string;
  readonly config: string;
  readonly dataDir: string;
  readonly storeFile: string;
  readonly pki: Pki;
  /** `signet <args>` on this configuration, to its end. */
  signet(...args: readonly string[]): Promise<Finished>;
  /** The same, after commands of the shell such as `ulimit -f 100`. */
  limitedSignet(limits: string, ...args: readonly string[]): Promise<Finished>;
}

export async function install(
  t: Ending,
  options: {
    readonly domains: readonly DomainSketch[];
    readonly dataDir?: string;
    /** Store of another kind than a file of SQLite in the folder. */
    readonly store?: PostgresSettings;
    readonly more?: string;
  },
): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), 'signet-test-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const at = (name: string) => join(folder, name);
  const pki = await createPki();
  const server = await pki.server();
  const { dataDir = at('data') } = options;
  mkdirSync(dataDir, { mode: 0o700, recursive: true });
  const files = {
    'server.cert.pem': server.certificate,
    'server.key.pem': server.key,
    'bundle.pem': pki.bundle,
    'root.crl.pem': pki.rootList,
    'issuer.cert.pem': pki.issuer.certificate,
    'issuer.key.pem': pki.issuer.key,
    'host.pem': createSshAuthorityKey(),
    'user.pem': createSshAuthorityKey(),
    'signet.yaml': `listen: { port: 0 }
dataDir: ${dataDir}
tls: { certificate: server.cert.pem, key: server.key.pem, clientCa: bundle.pem }
certificates: { issuers: [{ certificate: issuer.cert.pem, key: issuer.key.pem }], trustDomain: signet.test }
ssh: { hostAuthority: host.pem, userAuthority: user.pem }
${options.store === undefined ? '' : `store: { kind: postgres, postgres: ${JSON.stringify(options.store)} }`}
${options.more ?? ''}`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(at(name), text, { mode: 0o600 });
  const config = at('signet.yaml');
  const storeFile = join(dataDir, 'signet.db');
  const store = await openStore(loadConfig(config).store);
  await store.change({ actor: 'test' }, async (change) => {
    for (const domain of options.domains) await saveDomain(change, domainContent(domain));
  });
  await store.close();
  const limitedSignet = (limits: string, ...args: readonly string[]) => {
    const command = [`${limits}; exec "$0" "$@"`, process.execPath, signetScript, ...args, '--config', config];
    return runProgram('/bin/bash', ['-c', ...command], { cwd: repository });
  };
  const signet = (...args: readonly string[]) => limitedSignet(':', ...args);
  return { folder, config, dataDir, storeFile, pki, signet, limitedSignet };
}

/** The real `signet serve`. */
export interface Serving {
  readonly baseUrl: string;
  /** Where revocation lists are over plain HTTP, when that is configured. */
  readonly crlUrl: string | undefined;
  /** Where metrics are, when that is configured. */
  readonly metricsUrl: string | undefined;
  readonly pid: number;
  /** Standard error so far. */
  errors(): string;
  as(who?: CallerOptions): Caller;
  /** Sends the signal and waits for the end: the exit status, or the signal. */
  end(signal?: NodeJS.Signals): Promise<number | NodeJS.Signals | null>;
}

/** Starts it and waits until it answers. `limits` are commands of the shell before it, such as `ulimit -f 100`. */
export async function serve(
  t: Ending,
  { config, pki }: Installation,
  options: { readonly limits?: string; readonly args?: readonly string[]; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<Serving> {
  const args = [signetScript, 'serve', '--config', config, '--json', ...(options.args ?? [])];
  const command = `${options.limits ?? ':'}; exec "$0" "$@"`;
  const child = spawn('/bin/bash', ['-c', command, process.execPath, ...args], {
    cwd: repository,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const ended = once(child, 'close').then(() => child.exitCode ?? child.signalCode);
  const end = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal);
    return ended;
  };
  t.teardown(() => end('SIGKILL').then(() => undefined));
  const { baseUrl, crlUrl, metricsUrl } = await firstLine(child, () => errors);
  return {
    baseUrl,
    crlUrl,
    metricsUrl,
    pid: child.pid ?? 0,
    errors: () => errors,
    as: (who) => caller(t, { baseUrl, pki }, who),
    end,
  };
}

function firstLine(
  child: ChildProcess,
  errors: () => string,
): Promise<{ readonly baseUrl: string; readonly crlUrl?: string; readonly metricsUrl?: string }> {
  return new Promise((resolve, reject) => {
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).once('line', (line) => resolve(JSON.parse(line)));
    child.once('close', () => reject(new Error(`signet serve ended early: ${errors()}`)));
  });
}
