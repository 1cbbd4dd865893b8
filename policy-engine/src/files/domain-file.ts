import { createHash } from 'node:crypto';

/*
 * Names of the files of a domain, for every program that writes or reads one: `<domain>.pol` in a policy directory, `<domain>.yaml` in a folder of
 * documents. A domain name has at most 256 characters, the name of a file at most 255 bytes.
 */

/** Longest domain name that a file name contains. The rest is for the suffix, and for the random part of a temporary file. */
const maxDomainInFileName = 200;

const digestForm = /^@[0-9a-f]{64}$/;

/** Suffix of a policy bundle. */
export const bundleSuffix = '.pol';

/**
 * Name of the file of a domain: `<domain><suffix>`, or `@<SHA-256 of the domain in hex><suffix>` for a domain whose own name is too long, or
 * ends with `.cases` as the names of policy tests do. No domain begins with `@`. The content of the file names the domain.
 */
export function domainFileName(domain: string, suffix: string): string {
  const fits = domain.length <= maxDomainInFileName && !domain.endsWith('.cases');
  return `${fits ? domain : `@${createHash('sha256').update(domain).digest('hex')}`}${suffix}`;
}

/** True if a file name without its suffix is a digest, so that only the content of the file tells its domain. */
export function isDigestName(name: string): boolean {
  return digestForm.test(name);
}
