import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildBundle, signBundle } from '@signet/policy-engine/bundle';
import type { Jwk, JwsPolicyData, KeyPurpose } from '@signet/policy-engine/wire';
import { loadConfig, type UpdaterConfig } from '@signet/updater/config/config';
import type { FileSystem } from '@signet/updater/files/file-system';
import type { Outcome } from '@signet/updater/outcome';
import type { RunReport } from '@signet/updater/run-once';
import { openUpdater, type Updater } from '@signet/updater/updater';
import type { ExecutionContext } from 'ava';
import { stringify } from 'yaml';
import { FakeClock } from '#support/clock';
import { temporaryFolder } from '#support/temp';
import { makePki, type TestPki } from '../../client/support/pki.ts';
import { answer, type Respond, startTlsServer, type TestServer } from '../../client/support/tls-server.ts';

const day = 86_400_000;

/** A key that signs bundles or tokens, as a server has it. */
export interface TestSigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly jwk: Jwk;
}

export function makeSigningKey(kid: string, purpose: KeyPurpose = 'bundle'): TestSigningKey {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' });
  return { kid, privateKey, jwk: { kty: 'EC', kid, alg: 'ES256', use: 'sig', crv: 'P-256', x, y, purpose } };
}

/** Test-specific members of a bundle; the rest is usual. Times are milliseconds. */
export interface BundleSpec {
  readonly domain?: string;
  readonly version?: number;
  readonly epoch?: number;
  readonly issued?: number;
  readonly expires?: number;
  readonly key?: TestSigningKey;
  /** Entity that the only assertion allows to read: other policies. */
  readonly entity?: string;
  /** Bytes of policy, to make it large. */
  readonly padding?: number;
}

export interface UpdaterWorld {
  readonly folder: string;
  readonly policyDir: string;
  readonly configFile: string;
  readonly config: UpdaterConfig;
  readonly pki: TestPki;
  readonly server: TestServer;
  readonly clock: FakeClock;
  readonly key: TestSigningKey;
  /** Keys that the keys endpoint publishes; change it at will. */
  readonly published: Jwk[];
  /** Answers of the bundle operation by domain; a domain without is 404. */
  readonly answers: Map<string, Respond>;
  /** The answer to which domains name this host; a server without `respond` here does not have the operation. */
  readonly named: { respond?: Respond };
  /** These domains name this host, and no others. */
  name(...domains: readonly string[]): void;
  sign(spec?: BundleSpec): Promise<JwsPolicyData>;
  /** Serves a bundle with an entity tag, and answers 304 to that tag. Answers the exact text served. */
  publish(spec?: BundleSpec): Promise<string>;
  /** Opens another updater on the same directory; it ends with the test. */
  open(files?: FileSystem, change?: Partial<UpdaterConfig>): Promise<Updater>;
  /** Opens, runs once and closes. */
  runOnce(files?: FileSystem, change?: Partial<UpdaterConfig>): Promise<RunReport>;
  /** Text of a file in the policy directory, `undefined` when there is none. */
  read(name: string): string | undefined;
  mode(name: string): number;
  /** The requests for bundles, as `domain if-none-match`. */
  bundleRequests(): readonly string[];
}

export async function updaterWorld(
  t: ExecutionContext,
  domains: readonly string[] = ['catalog'],
): Promise<UpdaterWorld> {
  const folder = temporaryFolder(t);
  const pki = await makePki(folder);
  const identity = await pki.issue('catalog.updater');
  const key = makeSigningKey('bundle-1');
  const published = [key.jwk, makeSigningKey('token-1', 'token').jwk];
  const answers = new Map<string, Respond>();
  const named: UpdaterWorld['named'] = {};
  const respond: Respond = (request, response) => {
    const domain = /^\/v1\/domain\/([^/]+)\/policy\/signed$/.exec(request.url)?.[1];
    const reply = domain === undefined ? undefined : answers.get(domain);
    if (reply !== undefined) return reply(request, response);
    if (request.url === '/v1/bundle-domains' && named.respond !== undefined) return named.respond(request, response);
    if (request.url === '/v1/oauth2/keys?rfc=true') return answer(response, 200, { keys: published });
    if (request.url === '/v1/.well-known/oauth-authorization-server') {
      return answer(response, 200, { issuer: 'https://issuer.example/v1' });
    }
    return answer(response, 404, { code: 404, message: 'not found' });
  };
  const server = await startTlsServer(t, {
    identity: await pki.issue('sys.auth.server', ['localhost']),
    ca: pki.ca,
    respond,
  });
  const policyDir = join(folder, 'policy');
  const configFile = join(folder, 'updater.yaml');
  const settings = {
    baseUrl: server.baseUrl,
    caBundle: 'ca.pem',
    certificate: identity.certFile,
    key: identity.keyFile,
    policyDir: 'policy',
    domains,
    logLevel: 'silent',
  };
  writeFileSync(configFile, stringify(settings));
  const config = loadConfig(configFile, {});
  const clock = new FakeClock();

  const sign: UpdaterWorld['sign'] = (spec = {}) => {
    const { domain = 'catalog', version = 1, epoch = 1, padding = 0 } = spec;
    const issued = spec.issued ?? clock.now();
    const modified = formatPolicyTime;
    const resource = `${domain}:${spec.entity ?? 'movie'}`;
    const assertions = [{ effect: 'ALLOW' as const, role: `${domain}:role.reader`, action: 'read', resource }];
    const policies = [
      { name: `${domain}:policy.base`, modified, assertions },
      ...(padding > 0 ? [{ name: `${domain}:policy.${'p'.repeat(padding)}`, modified, assertions }] : []),
    ];
    const expires = spec.expires ?? issued + 7 * day;
    const data = buildBundle({ domain, epoch, version, modified: issued, issued, expires, policies });
    return signBundle(data, spec.key ?? key);
  };
  const open: UpdaterWorld['open'] = async (files, change = {}) => {
    const updater = await openUpdater({
      config: { ...config, ...change },
      clock,
      ...(files === undefined ? {} : { files }),
    });
    t.teardown(() => updater.close());
    return updater;
  };
  return {
    folder,
    policyDir,
    configFile,
    config,
    pki,
    server,
    clock,
    key,
    published,
    answers,
    named,
    name: (...domains) => {
      const body = JSON.stringify({ reader: 'catalog.updater', complete: true, domains });
      named.respond = serve(body, `"${domains.join()}"`);
    },
    sign,
    publish: async (spec = {}) => {
      const body = JSON.stringify(await sign(spec));
      answers.set(spec.domain ?? 'catalog', serve(body, `"${spec.epoch ?? 1}.${spec.version ?? 1}"`));
      return body;
    },
    open,
    runOnce: async (files, change) => {
      const updater = await open(files, change);
      try {
        return await updater.run();
      } finally {
        await updater.close();
      }
    },
    read: (name) => {
      const file = join(policyDir, name);
      return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
    },
    mode: (name) => statSync(join(policyDir, name)).mode & 0o7777,
    bundleRequests: () =>
      server.requests.flatMap(({ url, headers }) => {
        const domain = /^\/v1\/domain\/([^/]+)\//.exec(url)?.[1];
        return domain === undefined ? [] : [`${domain} ${headers['if-none-match'] ?? '-'}`];
      }),
  };
}

const formatPolicyTime = '2026-01-01T00:00:00.000Z';

/** Serves a text under an entity tag. */
export function serve(body: string | Uint8Array, etag?: string): Respond {
  return (request, response) => {
    if (etag !== undefined && request.headers['if-none-match'] === etag) {
      response.writeHead(304, { etag }).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'application/json', ...(etag === undefined ? {} : { etag }) });
    response.end(body);
  };
}

/** Kinds of the outcomes of a run, by domain. */
export function kinds(report: RunReport): Record<string, Outcome['kind']> {
  return Object.fromEntries([...report.outcomes].map(([domain, { kind }]) => [domain, kind]));
}
