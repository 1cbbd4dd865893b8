import type { Samples } from './schema-limits.ts';

/** Samples of schemas for which arbitrary text does not do, by file and name. */
export const samplesOf: Readonly<Record<string, Samples>> = {
  'server/src/config/config-schema.ts configSchema': {
    'crl.distributionPoints.*': (_, length) => crlAddress(length),
    'instances.jwtIssuers.*.subject': (_, length) => (length === 0 ? '' : '{domain}.{service}'),
    'people.issuers.*.issuer': () => 'https://people.example',
    'people.issuers.*.subjects.*': (_, length) => personName(length),
    'people.issuers.*.administrators.*': (_, length) => personName(length),
  },
  'server/src/config/options/people-options.ts peopleSchema': {
    'issuers.*.issuer': () => 'https://people.example',
    'issuers.*.subjects.*': (_, length) => personName(length),
    'issuers.*.administrators.*': (_, length) => personName(length),
  },
  'server/src/management/plan-files.ts filesSchema': {
    'files.*.name': (index, length = 0) => `${index}.yaml`.padStart(length, 'x'),
  },
  'server/src/http/routes/identity/login.ts requestSchema': { salt: () => 'A'.repeat(43) },
  'server/src/config/options/certificate-options.ts distributionPoint': { '': (_, length) => crlAddress(length) },
  'server/src/config/options/certificate-options.ts crlSchema': {
    'distributionPoints.*': (_, length) => crlAddress(length),
  },
  'server/src/config/options/instance-options.ts instancesSchema': {
    'jwtIssuers.*.subject': (_, length) => (length === 0 ? '' : '{domain}.{service}'),
  },
  'updater/src/config/config.ts configSchema': {
    baseUrl: () => 'https://localhost:4443/v1',
    'domains.*': (index) => `domain-${index}`,
  },
  'example-provider/src/provider-config.ts configSchema': {
    domain: () => 'catalog',
    'server.baseUrl': () => 'https://localhost:4443/v1',
    'attestation.machines.*.secretSha256': () => 'a'.repeat(64),
  },
};

function crlAddress(length = 0): string {
  return 'http://pki.example/{issuer}'.padEnd(length, 'x');
}

function personName(length = 0): string {
  return 'user.x'.padEnd(length, 'x');
}
