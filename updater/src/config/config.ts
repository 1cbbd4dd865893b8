import { lstatSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { maxBundleBytes } from '@signet/policy-engine/bundle';
import type { DomainName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { UpdaterError } from '../updater-errors.ts';
import { domainName, readDomainsFolder } from './domains-folder.ts';
import { type Environment, variables } from './env.ts';
import { describeProblems, readMapping } from './yaml-file.ts';

const path = z.string().min(1);
const milliseconds = z.int().min(1).max(600_000);
/** Log levels by severity, and `silent`. */
const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const;

/** Description of an option: its meaning, an example value, the first version that has it. */
const about = (since: '0.1' | '0.2', example: unknown, description: string, absent?: string) => ({
  description,
  examples: [example],
  since,
  ...(absent !== undefined && { absent }),
});

const domainList = z
  .array(domainName)
  .min(1)
  .refine((names) => new Set(names).size === names.length, { error: 'a domain is named twice' });

const settings = z.strictObject({
  baseUrl: z
    .url({ protocol: /^https$/, error: 'not an https URL' })
    .meta(about('0.1', 'https://signet.example:4443/v1', 'URL of the server, as in its own `baseUrl`.')),
  caBundle: path.meta(
    about('0.1', 'ca/bundle.pem', 'PEM certificates of the trusted authorities; no others are trusted.'),
  ),
  certificate: path.meta(
    about('0.1', 'identities/catalog.updater.cert.pem', 'PEM client certificate, followed by those up to the root.'),
  ),
  key: path.meta(about('0.1', 'identities/catalog.updater.key.pem', 'PEM private key of `certificate`.')),
  serverIdentity: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        '0.2',
        'spiffe://prod.example/ns/default/sa/sys.auth.server',
        "Identity in the server's certificate: a service, a whole SPIFFE id, or `host-name` for a public certificate.",
        '`sys.auth.server`',
      ),
    ),
  policyDir: path.meta(
    about(
      '0.1',
      'policy',
      'Folder for the bundles, which services watch; created if missing. Only this user may write to it.',
    ),
  ),
  domains: z
    .union([z.literal('auto'), domainList], { error: 'must be `auto` or an array of domains' })
    .optional()
    .meta(
      about(
        '0.1',
        ['catalog', 'media'],
        "Domains whose bundles are kept up to date; `auto` (since 0.2): those that name this host's service in `bundleReaders`.",
        'those of `domainsDir`',
      ),
    ),
  domainsDir: path
    .optional()
    .meta(about('0.2', 'domains.d', 'A folder of files with more domains.', 'there are no others')),
  maxDomains: z
    .int()
    .min(1)
    .max(10_000)
    .default(1000)
    .meta({ ...about('0.2', 50, 'Maximum number of domains by `auto`.'), unit: 'domains' }),
  issuer: z
    .string()
    .min(1)
    .optional()
    .meta(
      about(
        '0.1',
        'https://signet.example',
        '`iss` of the tokens that services on this host accept.',
        'what the metadata document of the server says',
      ),
    ),
  athenzBundles: z
    .boolean()
    .optional()
    .meta(about('0.2', true, 'Whether the server is an Athenz server.', 'false')),
  bundleForm: z
    .enum(['rfc7515', 'athenz'])
    .optional()
    .meta(
      about(
        '0.2',
        'athenz',
        "Form of requested and stored bundles: `athenz` for hosts with Athenz's engines.",
        '`athenz` with `athenzBundles`, else `rfc7515`',
      ),
    ),
  maxBundleBytes: z
    .int()
    .min(1024)
    .max(maxBundleBytes)
    .default(maxBundleBytes)
    .meta(about('0.1', 8_388_608, 'The largest bundle that is taken, in bytes.')),
  connectTimeoutMs: milliseconds
    .default(30_000)
    .meta(about('0.1', 5000, 'How long connecting to the server may take.')),
  readTimeoutMs: milliseconds.default(30_000).meta(about('0.1', 10_000, 'How long the server may send nothing.')),
  logLevel: z
    .enum(logLevels)
    .default('info')
    .meta(about('0.1', 'warn', 'The lowest level that is logged.')),
  metrics: z
    .strictObject({
      textfile: z
        .string()
        .regex(/.\.prom$/, 'must end in `.prom`')
        .optional()
        .meta(
          about(
            '0.2',
            '/var/lib/node_exporter/signet.prom',
            'A file for the textfile collector of node_exporter, written after each run; its name ends in `.prom`.',
            'none is written',
          ),
        ),
    })
    .prefault({})
    .meta({ description: 'Metrics for operators.' }),
});

/** Every option of the updater. */
export const configSchema = settings
  .refine((config) => config.athenzBundles !== true || config.bundleForm !== 'rfc7515', {
    path: ['bundleForm'],
    error: 'must be `athenz` where `athenzBundles` is true: an Athenz server has no other form',
  })
  .refine((config) => config.athenzBundles !== true || config.domains !== 'auto', {
    path: ['domains'],
    error: 'must not be `auto` where `athenzBundles` is true: an Athenz server does not tell which domains name a host',
  });

/** Forms in which a bundle can be asked for. */
export type BundleForm = NonNullable<z.infer<typeof settings>['bundleForm']>;

/** The form that a configuration means. */
export function bundleFormOf({
  athenzBundles,
  bundleForm,
}: Pick<UpdaterConfig, 'athenzBundles' | 'bundleForm'>): BundleForm {
  return bundleForm ?? (athenzBundles === true ? 'athenz' : 'rfc7515');
}

/** The configuration, with absolute paths. Times are milliseconds. */
export type UpdaterConfig = Readonly<Omit<z.infer<typeof configSchema>, 'domains'>> & {
  /** Domains of the file and of `domainsDir`, each once. */
  readonly domains: readonly DomainName[];
  /** True if the domains that name this host are kept as well. */
  readonly autoDomains?: true;
  /** Proxy of the environment (`HTTPS_PROXY`), with the hosts that are reached without it (`NO_PROXY`). */
  readonly proxy?: string;
  readonly noProxy?: string;
};

const defaultFolder = '.signet';

/**
 * Name of the configuration file: the option, else `SIGNET_UPDATER_CONFIG`, else `.signet/updater.yaml`. A file in the working directory was not
 * chosen explicitly: it is used only where no other user can have put it there. Throws `UpdaterError('configuration')`.
 */
export function configFile(option: string | undefined, env: Environment): string {
  const chosen = option ?? env[variables.config];
  if (chosen !== undefined) return resolve(chosen);
  refuseOthersFolder(defaultFolder);
  return resolve(defaultFolder, 'updater.yaml');
}

function refuseOthersFolder(folder: string): void {
  const self = process.getuid?.();
  const link = lstatSync(folder, { throwIfNoEntry: false });
  const target = statSync(folder, { throwIfNoEntry: false });
  if (self === undefined || link === undefined) return;
  if ([link, target].some((stats) => stats !== undefined && stats.uid !== self)) {
    throw problem(`folder \`${folder}\` belongs to another user: use \`--config\` if you trust it`);
  }
  if (target !== undefined && (target.mode & 0o022) !== 0) {
    throw problem(`folder \`${folder}\` is writable by other users: its mode must be 0700`);
  }
}

function problem(message: string, cause?: unknown): UpdaterError {
  return new UpdaterError('configuration', message, { cause });
}

/**
 * Reads the configuration: file, then the environment over it. Relative paths are relative to the file; those of the
 * environment to the working directory. Throws `UpdaterError('configuration')` that names every problem.
 */
export function loadConfig(file: string, env: Environment): UpdaterConfig {
  const merged = { ...readMapping(file), ...environmentSettings(env) };
  const result = configSchema.safeParse(merged);
  if (!result.success) {
    throw problem(`configuration \`${file}\`: ${describeProblems(result.error)}`);
  }
  const folder = dirname(file);
  if (result.data.domains === undefined && result.data.domainsDir === undefined) {
    throw problem(
      `configuration \`${file}\`: domains: must be \`auto\` or an array of domains, unless there is a \`domainsDir\``,
    );
  }
  const { domains = [], domainsDir, caBundle, certificate, key, policyDir, metrics, ...others } = result.data;
  const folderOfDomains = domainsDir === undefined ? undefined : resolve(folder, domainsDir);
  const listed = domains === 'auto' ? [] : domains;
  return {
    ...others,
    domains: [...new Set([...listed, ...(folderOfDomains === undefined ? [] : readDomainsFolder(folderOfDomains))])],
    ...(domains === 'auto' && { autoDomains: true }),
    ...(folderOfDomains !== undefined && { domainsDir: folderOfDomains }),
    caBundle: resolve(folder, caBundle),
    certificate: resolve(folder, certificate),
    key: resolve(folder, key),
    policyDir: resolve(folder, policyDir),
    metrics: metrics.textfile === undefined ? {} : { textfile: resolve(folder, metrics.textfile) },
    ...proxySettings(env),
  };
}

function environmentSettings(env: Environment): Record<string, unknown> {
  const known = new Set<string>(Object.values(variables));
  const unknown = Object.keys(env).find((name) => name.startsWith('SIGNET_UPDATER_') && !known.has(name));
  if (unknown !== undefined) throw problem(`environment variable \`${unknown}\` is not known`);
  const settings: Record<string, unknown> = {};
  for (const [name, variable] of Object.entries(variables)) {
    const value = env[variable];
    if (name === 'config' || value === undefined) continue;
    settings[name] = environmentValue(name, value);
  }
  return settings;
}

function environmentValue(name: string, value: string): unknown {
  if (name === 'domains' && value === 'auto') return value;
  if (name === 'domains') return value.split(',').map((domain) => domain.trim());
  if (name === 'maxBundleBytes' || name === 'maxDomains') return Number(value);
  if (name === 'athenzBundles' && (value === 'true' || value === 'false')) return value === 'true';
  return ['caBundle', 'certificate', 'key', 'policyDir', 'domainsDir'].includes(name) && value !== ''
    ? resolve(value)
    : value;
}

function proxySettings(env: Environment): { proxy?: string; noProxy?: string } {
  const proxy = env['HTTPS_PROXY'] ?? env['https_proxy'];
  const noProxy = env['NO_PROXY'] ?? env['no_proxy'];
  if (proxy === undefined || proxy === '') return {};
  return { proxy, ...(noProxy !== undefined && { noProxy }) };
}
