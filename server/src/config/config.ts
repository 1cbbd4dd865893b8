import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { keySkewMs } from '../keys/key-life.ts';
import { type ProfileRules, profiles } from '../profile.ts';
import { ConfigError } from './config-error.ts';
import { type ConfigValues, configSchema, optionPaths } from './config-schema.ts';
import { type Environment, environmentName, readEnvironment } from './env.ts';
import { type LoginIssuerValues, loginContradictions } from './login-contradictions.ts';
import { nearestName } from './nearest-name.ts';
import type { StorePlace } from './store-place.ts';

/** Source of an option's value in force. */
type Provenance = 'default' | 'file' | 'environment' | 'flag';

/** The options about certificates, complete, with absolute paths. */
interface CertificateSettings extends Omit<ConfigValues['certificates'], 'roots' | 'dnsSuffix' | 'dnsSuffixes'> {
  readonly roots: string;
  readonly dnsSuffix: string;
  readonly dnsSuffixes: readonly string[];
}

/** The options about tokens, complete. */
interface TokenSettings extends Omit<ConfigValues['tokens'], 'maxExpirySeconds'> {
  readonly maxExpirySeconds: number;
  /** Up to what limits of domains and roles may raise the ceiling. */
  readonly longestExpirySeconds: number;
}

/** The configuration of a server: checked, complete, with absolute paths, frozen. */
export interface ServerConfig
  extends Omit<ConfigValues, 'profile' | 'anonymousKeys' | 'certificates' | 'tokens' | 'store'> {
  readonly tokens: TokenSettings;
  readonly certificates: CertificateSettings;
  readonly profile: ProfileRules;
  readonly anonymousKeys: boolean;
  /** The file that relative paths are relative to. */
  readonly file: string;
  readonly store: StorePlace & Pick<ConfigValues['store'], 'onDivergence'>;
  readonly keysDir: string;
  readonly provenance: ReadonlyMap<string, Provenance>;
}

/**
 * Reads the file, then the environment, then the flags (option paths such as `listen.port`), each over the one before.
 * Throws `ConfigError` with every problem at once: unknown options, wrong types, options that contradict each other.
 */
export function loadConfig(
  file: string,
  environment: Environment = {},
  flags: Readonly<Record<string, unknown>> = {},
): ServerConfig {
  const path = resolve(file);
  const problems: string[] = [];
  const written = readYaml(path);
  const provenance = new Map<string, Provenance>(
    optionPaths.map((option) => [option, valueAt(written, option) === undefined ? 'default' : 'file']),
  );
  for (const [option, value] of readEnvironment(environment, optionPaths)) {
    setAt(written, option, value);
    provenance.set(option, 'environment');
  }
  for (const [option, value] of Object.entries(flags)) {
    if (value === undefined) continue;
    setAt(written, option, value);
    provenance.set(option, 'flag');
  }
  // Parsed once: a function compiled for it would not pay.
  const parsed = configSchema.safeParse(written, { jitless: true });
  if (!parsed.success) problems.push(...parsed.error.issues.flatMap((issue) => describe(issue, provenance)));
  else problems.push(...contradictions(parsed.data));
  if (!parsed.success || problems.length > 0) throw new ConfigError(path, problems);
  return complete(parsed.data, path, provenance);
}

type Tree = Record<string, unknown>;

const whichFile = 'name that of the server by `--config` or `SIGNET_CONFIG`';

/** Throws `ConfigError` where the file has no options, or is one that is not for a server. */
function readYaml(path: string): Tree {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unreadable';
    throw new ConfigError(path, [`the file cannot be read (${code})${code === 'ENOENT' ? `: ${whichFile}` : ''}`]);
  }
  const document = parseDocument(text, { lineCounter: new LineCounter(), prettyErrors: true });
  const errors = document.errors.map(({ message }) => message.split('\n')[0]?.replace(/:$/, '') ?? 'not YAML');
  if (errors.length > 0) throw new ConfigError(path, errors);
  const value: unknown = document.toJS() ?? {};
  if (!isTree(value)) throw new ConfigError(path, ['the file must be a mapping of options']);
  if (isOfClient(value)) throw new ConfigError(path, [`it is the configuration of a client: ${whichFile}`]);
  return value;
}

/** `SIGNET_CONFIG` names either: commands that ask a server read that of a client. */
function isOfClient(written: Tree): boolean {
  return !('tls' in written) && ['baseUrl', 'certificate', 'key', 'caBundle'].every((option) => option in written);
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function valueAt(tree: Tree, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((at, key) => (isTree(at) && Object.hasOwn(at, key) ? at[key] : undefined), tree);
}

function setAt(tree: Tree, path: string, value: unknown): void {
  const keys = path.split('.');
  const last = keys.pop() ?? path;
  let at = tree;
  for (const key of keys) {
    const inner = at[key];
    const next = isTree(inner) ? inner : {};
    at[key] = next;
    at = next;
  }
  at[last] = value;
}

function describe(issue: z.core.$ZodIssue, provenance: ReadonlyMap<string, Provenance>): string[] {
  const path = issue.path.join('.');
  if (issue.code !== 'unrecognized_keys') {
    const origin = provenance.get(path) === 'environment' ? ` (from ${environmentName(path)})` : '';
    const message = issue.message.endsWith(', received undefined') ? 'required' : issue.message;
    return [`${path === '' ? 'the file' : path}${origin}: ${message.replace(/^Invalid input: /, '')}`];
  }
  return issue.keys.map((key) => {
    const full = path === '' ? key : `${path}.${key}`;
    const near = nearestName(full, siblings(path));
    return `unknown option \`${full}\`${near === undefined ? '' : `, did you mean \`${near}\`?`}`;
  });
}

/** The options one level below `path`. */
function siblings(path: string): string[] {
  const depth = path === '' ? 1 : path.split('.').length + 1;
  const inside = optionPaths.filter((option) => path === '' || option.startsWith(`${path}.`));
  return [...new Set(inside.map((option) => option.split('.').slice(0, depth).join('.')))];
}

/** Rules between options. */
function contradictions(values: ConfigValues): string[] {
  const problems: string[] = [];
  if (values.tokens.defaultExpirySeconds > tokenSettings(values).maxExpirySeconds) {
    problems.push('tokens.defaultExpirySeconds must not exceed tokens.maxExpirySeconds');
  }
  // A verifier may hold the old key list for maxAgeSeconds, learn it from a server one refresh behind, and be 300 s off.
  const least = values.keys.maxAgeSeconds + Math.ceil(values.snapshot.refreshIntervalMs / 1000) + 300;
  if (values.keys.prepublishSeconds < least) {
    problems.push(
      `keys.prepublishSeconds must be at least ${least}: keys.maxAgeSeconds, one snapshot refresh and 300 s`,
    );
  }
  problems.push(...rotationContradictions(values));
  if (values.keys.sealingKeyFile === undefined) {
    if (values.keys.storage === 'store') problems.push('keys.storage `store` needs keys.sealingKeyFile');
    if (values.keys.previousSealingKeyFiles.length > 0) {
      problems.push('keys.previousSealingKeyFiles needs keys.sealingKeyFile');
    }
  }
  if (values.cloud.aws.endpoint !== undefined && values.cloud.aws.region === undefined) {
    problems.push('cloud.aws.endpoint needs cloud.aws.region');
  }
  if (values.management.alone && !values.management.enabled) {
    problems.push('management.alone needs management.enabled');
  }
  return [
    ...problems,
    ...listenContradictions(values),
    ...storeContradictions(values),
    ...identityContradictions(values),
  ];
}

function rotationContradictions(values: ConfigValues): string[] {
  const { rotateEverySeconds, prepublishSeconds, storage } = values.keys;
  if (rotateEverySeconds === undefined) return [];
  // Then a key that was replaced is withdrawn before the next one is ordered: four keys of a purpose are published at most.
  const longest = Math.max(tokenSettings(values).longestExpirySeconds, values.bundles.lifetimeSeconds);
  const least = prepublishSeconds + longest + keySkewMs / 1000;
  return [
    ...(rotateEverySeconds < least
      ? [
          `keys.rotateEverySeconds must be at least ${least}: keys.prepublishSeconds, the longest life of a token or bundle ` +
            '(tokens.maxExpirySeconds, 30 days where it is not set; bundles.lifetimeSeconds) and 300 s',
        ]
      : []),
    ...(values.store.kind === 'postgres' && storage === 'files'
      ? [
          'keys.rotateEverySeconds with store.kind `postgres` needs keys.storage `store`: other servers would lack the file',
        ]
      : []),
  ];
}

function suffixContradictions({ certificates, profile }: ConfigValues): string[] {
  const { dnsSuffixes } = certificates;
  if (dnsSuffixes === undefined) return [];
  if (profiles[profile].dnsSuffixes === undefined) return ['certificates.dnsSuffixes needs the profile `athenz`'];
  if (!dnsSuffixes.some((suffix) => isBelow(suffix, dnsSuffixOf(certificates)))) return [];
  return ['certificates.dnsSuffixes must hold none that is below certificates.dnsSuffix'];
}

function listenContradictions({ listen, workers, crl, metrics }: ConfigValues): string[] {
  const { port, socket } = metrics.listen;
  const both = port !== undefined && socket !== undefined ? ['metrics.listen must have either port or socket'] : [];
  if (!listen.reusePort) return both;
  const ports = [listen.port, ...(crl.listen.port === undefined ? [] : [crl.listen.port])];
  return [
    ...both,
    ...(workers > 1 ? ['listen.reusePort is for processes of their own: set workers to 1'] : []),
    ...(ports.includes(0) ? ['listen.reusePort needs ports that are not 0'] : []),
  ];
}

function storeContradictions({ store: { kind, postgres } }: ConfigValues): string[] {
  const { hosts, certificate, key } = postgres;
  return [
    ...(kind === 'postgres' && hosts.length === 0 ? ['store.postgres.hosts must name a host'] : []),
    ...(kind === 'sqlite' && hosts.length > 0 ? ['store.postgres needs store.kind: postgres'] : []),
    ...((certificate === undefined) === (key === undefined) ? [] : ['store.postgres needs both certificate and key']),
  ];
}

function identityContradictions(values: ConfigValues): string[] {
  const { certificates, crl, instances, management, tls } = values;
  const problems = suffixContradictions(values);
  if (crl.listen.port !== undefined && (certificates.issuers.length === 0 || management.alone)) {
    problems.push('crl.listen.port needs an issuer in certificates.issuers, and no management.alone');
  }
  if (certificates.issuers.length > 0 && certificates.issuers.every(({ state }) => state === 'draining')) {
    problems.push('certificates.issuers must have one that is active');
  }
  for (const [index, issuer] of instances.jwtIssuers.entries()) {
    if ((issuer.keysFile === undefined) === (issuer.keysUrl === undefined)) {
      problems.push(`instances.jwtIssuers.${index} must have either keysFile or keysUrl`);
    }
  }
  if (tls.renew && certificates.issuers.length === 0) {
    problems.push('tls.renew needs an issuer in certificates.issuers');
  }
  problems.push(...loginContradictions(values));
  const providers = [instances.joinTokens.provider, ...instances.jwtIssuers.map(({ provider }) => provider)];
  if (new Set(providers).size < providers.length) problems.push('instances: two providers have the same name');
  return problems;
}

function complete(values: ConfigValues, file: string, provenance: ReadonlyMap<string, Provenance>): ServerConfig {
  const at = (path: string) => resolve(dirname(file), path);
  const dataDir = at(values.dataDir);
  const profile = profiles[values.profile];
  const { certificate, key, clientCa } = values.tls;
  const tls = { ...values.tls, certificate: at(certificate), key: at(key), clientCa: at(clientCa) };
  return Object.freeze({
    ...values,
    certificates: certificateSettings(values, at),
    crl: { ...values.crl, roots: values.crl.roots.map(at) },
    instances: {
      ...values.instances,
      jwtIssuers: values.instances.jwtIssuers.map((issuer) => withKeysFile(issuer, at)),
    },
    people: { ...values.people, issuers: values.people.issuers.map((issuer) => withIssuerFiles(issuer, at)) },
    profile,
    tokens: tokenSettings(values),
    anonymousKeys: values.anonymousKeys ?? profile.anonymousKeys,
    dataDir,
    tls,
    keys: {
      ...values.keys,
      ...(values.keys.sealingKeyFile !== undefined && { sealingKeyFile: at(values.keys.sealingKeyFile) }),
      previousSealingKeyFiles: values.keys.previousSealingKeyFiles.map(at),
    },
    ssh: {
      ...values.ssh,
      ...(values.ssh.hostAuthority !== undefined && { hostAuthority: at(values.ssh.hostAuthority) }),
      ...(values.ssh.userAuthority !== undefined && { userAuthority: at(values.ssh.userAuthority) }),
    },
    metrics: { listen: withSocket(values.metrics.listen, at) },
    file,
    store: storePlace(values, dataDir, at),
    keysDir: resolve(dataDir, 'keys'),
    provenance,
  });
}

function storePlace({ store }: ConfigValues, dataDir: string, at: (path: string) => string): ServerConfig['store'] {
  const { kind, onDivergence } = store;
  if (kind === 'sqlite') return { kind, onDivergence, file: resolve(dataDir, 'signet.db') };
  const path = (file: string | undefined) => file && at(file);
  const { passwordFile, certificate, key, ca } = store.postgres;
  const files = { passwordFile: path(passwordFile), certificate: path(certificate), key: path(key), ca: path(ca) };
  return { kind, onDivergence, ...store.postgres, ...files };
}

/** The ceiling of access tokens: limits of domains and roles may raise the one that is not configured. */
function tokenSettings({ tokens }: ConfigValues): TokenSettings {
  const { maxExpirySeconds } = tokens;
  return {
    ...tokens,
    maxExpirySeconds: maxExpirySeconds ?? 7200,
    longestExpirySeconds: maxExpirySeconds ?? 30 * 86_400,
  };
}

function dnsSuffixOf({ dnsSuffix, trustDomain }: ConfigValues['certificates']): string {
  return dnsSuffix ?? trustDomain;
}

function defaultSuffixes({ dnsSuffixes }: ProfileRules, dnsSuffix: string): readonly string[] {
  return dnsSuffixes === undefined ? [] : [dnsSuffix, ...dnsSuffixes.filter((suffix) => !isBelow(suffix, dnsSuffix))];
}

/** Below the server's own suffix a name could be one that another service has there. */
function isBelow(suffix: string, dnsSuffix: string): boolean {
  return suffix.endsWith(`.${dnsSuffix}`);
}

function certificateSettings(values: ConfigValues, at: (path: string) => string): CertificateSettings {
  const { certificates, tls } = values;
  const dnsSuffix = dnsSuffixOf(certificates);
  return {
    ...certificates,
    roots: at(certificates.roots ?? tls.clientCa),
    dnsSuffix,
    dnsSuffixes: certificates.dnsSuffixes ?? defaultSuffixes(profiles[values.profile], dnsSuffix),
    issuers: certificates.issuers.map((issuer) => ({
      ...issuer,
      certificate: at(issuer.certificate),
      key: at(issuer.key),
    })),
  };
}

type MetricsValues = ConfigValues['metrics']['listen'];

function withSocket(listen: MetricsValues, at: (path: string) => string): MetricsValues {
  return listen.socket === undefined ? listen : { ...listen, socket: at(listen.socket) };
}

type JwtIssuerValues = ConfigValues['instances']['jwtIssuers'][number];

function withKeysFile(issuer: JwtIssuerValues, at: (path: string) => string): JwtIssuerValues {
  return issuer.keysFile === undefined ? issuer : { ...issuer, keysFile: at(issuer.keysFile) };
}

function withIssuerFiles(issuer: LoginIssuerValues, at: (path: string) => string): LoginIssuerValues {
  const { keysFile, ca } = issuer;
  return {
    ...issuer,
    ...(keysFile !== undefined && { keysFile: at(keysFile) }),
    ...(ca !== undefined && { ca: at(ca) }),
  };
}

/** The addresses of a server: `port` is the one it listens on, which a configured port 0 only becomes then. */
export interface Addresses {
  /** Without a final slash. */
  readonly baseUrl: string;
  /** Exactly as configured, compared by verifiers character by character. */
  readonly issuer: string;
  /** The path of `baseUrl`, `''` or like `/v1`. */
  readonly basePath: string;
}

/** The host of a base URL, an IPv6 address without its brackets. */
export function hostOf(baseUrl: string): string {
  return new URL(baseUrl).hostname.replace(/^\[|\]$/g, '');
}

/** Base URL, issuer and base path once the port is known. */
export function addressesOf(config: ServerConfig, port: number): Addresses {
  const fallback = `https://${hostPort(config.listen.host, port)}${config.profile.basePath}`;
  const baseUrl = (config.baseUrl ?? fallback).replace(/\/+$/, '');
  return { baseUrl, issuer: config.issuer ?? baseUrl, basePath: new URL(baseUrl).pathname.replace(/\/+$/, '') };
}

/** The address of the plain listener for revocation lists, at the port that it listens on. */
export function crlUrlOf({ crl }: ServerConfig, port: number, { basePath }: Addresses): string {
  return `http://${hostPort(crl.listen.host, port)}${basePath}/crl`;
}

function hostPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Every option with the value in force and where it came from, for `signet config show`. */
export function explainConfig(config: ServerConfig): { option: string; value: unknown; from: Provenance }[] {
  const { store } = config;
  const values: Tree = { ...config, profile: config.profile.name, store: { ...store, postgres: store } };
  return optionPaths.map((option) => ({
    option,
    value: valueAt(values, option) ?? null,
    from: config.provenance.get(option) ?? 'default',
  }));
}
