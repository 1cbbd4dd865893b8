import { stringify } from 'yaml';
import type { PostgresSettings } from '../../config/store-place.ts';
import type { ProfileRules } from '../../profile.ts';
import { schemaHeader } from '../config/schema-files.ts';
import { sealingKeyName } from './new-folder.ts';

interface NewConfig {
  readonly profile?: ProfileRules['name'] | undefined;
  readonly anonymousKeys?: boolean | undefined;
  readonly host: string;
  readonly port: number;
  readonly baseUrl: string | undefined;
  readonly trustDomain: string;
  readonly distributionPoints?: readonly string[] | undefined;
  readonly rootLists: readonly string[];
  readonly sealedKeys: boolean;
  readonly postgres?: PostgresSettings | undefined;
}

/** The text of `signet.yaml`. */
export function configText(config: NewConfig): string {
  const {
    profile = 'signet',
    anonymousKeys = false,
    host,
    port,
    baseUrl,
    trustDomain,
    distributionPoints,
    rootLists,
    sealedKeys,
    postgres,
  } = config;
  const crl = {
    ...(rootLists.length > 0 && { roots: rootLists }),
    ...(distributionPoints !== undefined && { distributionPoints }),
  };
  const values = {
    profile,
    listen: { host, port },
    // Port 0: the server picks one, and its address follows.
    ...(baseUrl !== undefined && { baseUrl }),
    ...(anonymousKeys && { anonymousKeys }),
    dataDir: 'data',
    ...(postgres !== undefined && { store: { kind: 'postgres', postgres: placeOf(postgres) } }),
    ...(sealedKeys && { keys: { storage: 'store', sealingKeyFile: sealingKeyName } }),
    tls: { certificate: 'server.cert.pem', key: 'server.key.pem', clientCa: 'ca/bundle.pem', renew: true },
    certificates: {
      issuers: [{ certificate: 'ca/intermediate.cert.pem', key: 'ca/intermediate.key.pem' }],
      trustDomain,
    },
    ...(Object.keys(crl).length > 0 && { crl }),
    ssh: { hostAuthority: 'ca/ssh-host.key.pem', userAuthority: 'ca/ssh-user.key.pem' },
  };
  return `${schemaHeader('config')}# What is in force: signet config show --config <this file>; what an option means: signet config explain\n${stringify(values)}`;
}

/** Database settings as given; everything else is a default, which later versions may change. */
function placeOf({ hosts, database, user, passwordFile, certificate, key, ca }: PostgresSettings) {
  const files = { passwordFile, certificate, key, ca };
  const given = Object.entries(files).filter(([, file]) => file !== undefined);
  return { hosts, database, user, ...Object.fromEntries(given) };
}

/** The text of a configuration of a client, beside its certificate. */
export function clientText(name: string, baseUrl: string): string {
  const files = { certificate: `${name}.cert.pem`, key: `${name}.key.pem`, caBundle: '../ca/bundle.pem' };
  return `# Who asks the server, for the commands of signet: --config <this file>, or SIGNET_CONFIG\n${stringify({ baseUrl, ...files })}`;
}
