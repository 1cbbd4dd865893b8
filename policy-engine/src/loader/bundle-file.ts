import { join } from 'node:path';
import { maxBundleBytes } from '../bundle/index.ts';
import { bundleSuffix, domainFileName, isDigestName } from '../files/domain-file.ts';
import { type DomainName, parseDomainName } from '../names/index.ts';
import { readRegularFile } from './read-file.ts';

/** Name of the file of a domain's bundle in a policy directory. */
export function bundleFileName(domain: string): string {
  return domainFileName(domain, bundleSuffix);
}

/** Domains of bundle files whose names are digests: the name is read from the content, once for each content. */
export class BundleFiles {
  readonly #policyDir: string;
  readonly #digests = new Map<string, { readonly identity: string; readonly domain: DomainName | undefined }>();

  constructor(policyDir: string) {
    this.#policyDir = policyDir;
  }

  /** The bundle files among the entries of the directory, with their domains. Ignores names that belong to no domain in lower case. */
  async among(entries: readonly string[]): Promise<Map<string, DomainName>> {
    const found = new Map<string, DomainName>();
    for (const file of entries) {
      if (!file.endsWith(bundleSuffix) || file.startsWith('.')) continue;
      const name = file.slice(0, -bundleSuffix.length);
      const domain = isDigestName(name) ? await this.#domainIn(file) : domainNamed(name);
      if (domain !== undefined && bundleFileName(domain) === file) found.set(file, domain);
    }
    return found;
  }

  async #domainIn(file: string): Promise<DomainName | undefined> {
    const known = this.#digests.get(file);
    const read = await readRegularFile(join(this.#policyDir, file), maxBundleBytes, known?.identity);
    if (read.kind !== 'read') return read.kind === 'unchanged' ? known?.domain : undefined;
    const domain = domainsIn(read.bytes).find((each) => bundleFileName(each) === file);
    this.#digests.set(file, { identity: read.identity, domain });
    return domain;
  }
}

function domainNamed(name: string): DomainName | undefined {
  try {
    const domain = parseDomainName(name);
    return domain === name ? domain : undefined;
  } catch {
    return undefined;
  }
}

/** Possible domains of a bundle. Nothing is verified here: loading it for a domain does, and the file name is the digest of the right one. */
function domainsIn(bundle: Uint8Array): DomainName[] {
  const [, payload = ''] = /"payload"\s*:\s*"([\w-]*)"/.exec(Buffer.from(bundle).toString('latin1')) ?? [];
  const text = Buffer.from(payload, 'base64url').toString('latin1');
  return [...text.matchAll(/"domain"\s*:\s*"([\w.-]{1,256})"/g)].flatMap(([, name = '']) => domainNamed(name) ?? []);
}
