/** The variables that this program reads; the only place that reads the environment. */
export const variables = {
  config: 'SIGNET_UPDATER_CONFIG',
  baseUrl: 'SIGNET_UPDATER_BASE_URL',
  caBundle: 'SIGNET_UPDATER_CA_BUNDLE',
  serverIdentity: 'SIGNET_UPDATER_SERVER_IDENTITY',
  certificate: 'SIGNET_UPDATER_CERTIFICATE',
  key: 'SIGNET_UPDATER_KEY',
  policyDir: 'SIGNET_UPDATER_POLICY_DIR',
  domains: 'SIGNET_UPDATER_DOMAINS',
  domainsDir: 'SIGNET_UPDATER_DOMAINS_DIR',
  maxDomains: 'SIGNET_UPDATER_MAX_DOMAINS',
  issuer: 'SIGNET_UPDATER_ISSUER',
  athenzBundles: 'SIGNET_UPDATER_ATHENZ_BUNDLES',
  bundleForm: 'SIGNET_UPDATER_BUNDLE_FORM',
  maxBundleBytes: 'SIGNET_UPDATER_MAX_BUNDLE_BYTES',
  logLevel: 'SIGNET_UPDATER_LOG_LEVEL',
} as const;

/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The environment of this process. */
export function readEnvironment(): Environment {
  return process.env;
}
