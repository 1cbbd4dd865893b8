import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { refuseExisting, writeOutput } from '../written-output.ts';

/** Client folder for calling the server: `signet --config <folder>/client.yaml …`. */
interface ClientFolder {
  readonly certificate: string;
  readonly key: string;
  readonly ca: string;
  readonly config: string;
}

/** Address of the server, and its authorities. `caBundle` is a file. */
interface ServerAddress {
  readonly baseUrl: string | readonly string[];
  readonly caBundle: string;
  readonly serverIdentity?: string | undefined;
}

/** The files of such a folder; certificate and key are where `signet identity` has them, too. */
export function clientFolder(folder: string): ClientFolder {
  const at = (name: string) => join(folder, name);
  return { certificate: at('cert.pem'), key: at('key.pem'), ca: at('ca.pem'), config: at('client.yaml') };
}

/** Throws `ConflictError` when one of the files is there. */
export function refuseClientFolder(files: ClientFolder): void {
  for (const file of Object.values(files)) refuseExisting(file);
}

/** Writes what does not change with the certificate: what the server must chain to, and the configuration of a client. */
export async function writeClientConfig(files: ClientFolder, server: ServerAddress, force: boolean): Promise<void> {
  const { baseUrl, caBundle, serverIdentity } = server;
  const values = {
    baseUrl,
    certificate: 'cert.pem',
    key: 'key.pem',
    caBundle: 'ca.pem',
    ...(serverIdentity !== undefined && { serverIdentity }),
  };
  await writeOutput(files.ca, readFileSync(caBundle, 'utf8'), { force, mode: 0o644 });
  await writeOutput(files.config, `# Created by signet\n${stringify(values)}`, { force, mode: 0o644 });
}
