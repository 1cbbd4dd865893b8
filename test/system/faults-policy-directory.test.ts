import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { systemClock } from '@signet/policy-engine/clock';
import { TestAuthority, TestClock } from '@signet/policy-engine/testing';
import test, { type ExecutionContext } from 'ava';
import { stringify } from 'yaml';
import { assertWithin } from '#support/cost';
import { providerScript } from '#support/dev-world';
import { until } from '#support/until';

/* A host whose policy directory is swapped as a whole, or whose file system tells of nothing: the real example provider. */

/** Loaded before the program: what file events are there like? */
function preload(watch: string): readonly string[] {
  const program = `
import { EventEmitter } from 'node:events';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
fs.watch = ${watch};
syncBuiltinESMExports();`;
  return ['--import', `data:text/javascript,${encodeURIComponent(program)}`];
}

const events = {
  usual: [],
  /** A network file system: there is a watch, and it never tells of anything. */
  silent: preload(`() => Object.assign(new EventEmitter(), { close() {}, ref() {}, unref() {} })`),
  /** The limit of the machine is reached. */
  refused: preload(`() => { throw Object.assign(new Error('no more watches'), { code: 'ENOSPC' }); }`),
} as const;

interface Host {
  /** Policy directory that the provider was given. */
  readonly path: string;
  readonly top: string;
  /** Makes a directory of that name with a bundle of this version. */
  fill(name: string, version: number): Promise<void>;
  /** The version in force, by `/healthz`. */
  version(): Promise<number | undefined>;
}

async function host(t: ExecutionContext, options: { events: readonly string[]; isLink: boolean }): Promise<Host> {
  const authority = await TestAuthority.create({ clock: new TestClock(systemClock.now()) });
  const top = mkdtempSync(join(tmpdir(), 'signet-test-'));
  t.teardown(() => rmSync(top, { recursive: true, force: true }));
  const path = join(top, 'policy');
  const fill = async (name: string, version: number) => {
    mkdirSync(join(top, name), { recursive: true });
    await authority.writeBundle(join(top, name), { domain: 'catalog', version, policies: [] });
  };
  await fill(options.isLink ? 'one' : 'policy', 1);
  if (options.isLink) symlinkSync('one', path);
  const own = authority.certificate('catalog.api');
  for (const [name, pem] of [
    ['cert', own.pem],
    ['key', own.key],
    ['ca', authority.ca.pem],
  ] as const) {
    writeFileSync(join(top, `${name}.pem`), pem, { mode: 0o600 });
  }
  const config = join(top, 'provider.yaml');
  const tls = { certificate: 'cert.pem', key: 'key.pem', clientCa: 'ca.pem' };
  const server = { baseUrl: 'https://localhost:1/v1', caBundle: 'ca.pem' };
  writeFileSync(config, stringify({ listen: { port: 0 }, tls, domain: 'catalog', policyDir: 'policy', server }));
  const child = spawn(process.execPath, [...options.events, providerScript, '--config', config, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  createInterface({ input: child.stdout }).once('line', resolve);
  child.once('exit', () => reject(new Error('the provider ended early')));
  const { url } = JSON.parse(await promise);
  return { path, top, fill, version: () => versionAt(`${url}/healthz`, authority.ca.pem) };
}

function versionAt(url: string, ca: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const sent = request(url, { ca, servername: 'localhost', agent: false }, async (response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk);
    const { policy } = JSON.parse(Buffer.concat(chunks).toString());
    resolve(policy.domains.find(({ domain }: { domain: string }) => domain === 'catalog')?.version);
  });
  sent.once('error', reject).end();
  return promise;
}

/** Seconds from now until the version is in force. */
async function secondsUntil(version: number, { version: current }: Host): Promise<number> {
  const start = performance.now();
  await until(`version ${version} is in force`, async () => (await current()) === version, 90_000);
  return (performance.now() - start) / 1000;
}

const cases = ['a link is switched', 'a directory is renamed away and another to its name'];

test('a host whose policy directory is swapped follows the new one', async (t) => {
  t.timeout(180_000);
  const [linked, renamed] = await Promise.all([
    host(t, { events: events.usual, isLink: true }),
    host(t, { events: events.usual, isLink: false }),
  ]);
  for (const version of [2, 3]) {
    await Promise.all([linked, renamed].map(({ fill }) => fill(`v${version}`, version)));
    symlinkSync(`v${version}`, join(linked.top, 'next'));
    renameSync(join(linked.top, 'next'), linked.path);
    renameSync(renamed.path, join(renamed.top, `old${version}`));
    renameSync(join(renamed.top, `v${version}`), renamed.path);
    const seconds = await Promise.all([linked, renamed].map((each) => secondsUntil(version, each)));
    for (const [index, figure] of seconds.entries()) {
      assertWithin(t, `${cases[index]}: in force after`, figure, 5, 's');
    }
  }
});

test('a host that is told of nothing, or may follow nothing, finds what changed', async (t) => {
  t.timeout(180_000);
  const hosts = await Promise.all(
    [events.silent, events.refused].map((each) => host(t, { events: each, isLink: false })),
  );
  for (const { fill, top, path } of hosts) {
    await fill('next', 2);
    // Written in place: not even the list of names changes.
    writeFileSync(join(path, 'catalog.pol'), readFileSync(join(top, 'next', 'catalog.pol')));
  }
  const seconds = await Promise.all(hosts.map((each) => secondsUntil(2, each)));
  for (const [index, figure] of seconds.entries()) {
    const note = ['without events', 'without watches'][index];
    assertWithin(t, `a file that is written in place, ${note}: in force after`, figure, 30, 's');
  }
});
