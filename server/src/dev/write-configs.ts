import { relative } from 'node:path';
import { stringify } from 'yaml';
import { schemaHeader } from '../cli/config/schema-files.ts';
import type { DevState } from '../cli/dev-state.ts';
import type { WorldPaths } from './data-folder.ts';
import { attestationSettings } from './machines.ts';

interface ConfigDeps {
  readonly paths: WorldPaths;
  readonly identities: DevState['identities'];
  readonly providerPort: number;
  readonly domains: readonly string[];
}

/** The updater of the provider's host, in YAML. */
export function updaterConfig({ paths, identities, domains }: ConfigDeps, baseUrl: string): string {
  const { certificate, key } = filesOf(paths, identities, 'catalog.updater');
  const values = {
    baseUrl,
    caBundle: relative(paths.folder, paths.caBundle),
    certificate,
    key,
    policyDir: relative(paths.folder, paths.policyDir),
    domains,
  };
  return `${schemaHeader('updater')}${stringify(values)}`;
}

/** The example provider, in YAML. */
export function providerConfig({ paths, identities, providerPort }: ConfigDeps, baseUrl: string): string {
  const caBundle = relative(paths.folder, paths.caBundle);
  return stringify({
    listen: { host: '127.0.0.1', port: providerPort },
    tls: { ...filesOf(paths, identities, 'catalog.api'), clientCa: caBundle },
    domain: 'catalog',
    policyDir: relative(paths.folder, paths.policyDir),
    server: { baseUrl, caBundle },
    attestation: attestationSettings(paths),
  });
}

function filesOf(paths: WorldPaths, identities: DevState['identities'], service: string) {
  const files = identities[service];
  if (files === undefined) throw new Error(`identity \`${service}\` does not exist`);
  return { certificate: relative(paths.folder, files.cert), key: relative(paths.folder, files.key) };
}
