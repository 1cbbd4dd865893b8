import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type DomainName, parseDomainName } from '@signet/policy-engine/names';
import { z } from 'zod';
import { systemCode, UpdaterError } from '../updater-errors.ts';
import { describeProblems, readMapping } from './yaml-file.ts';

/** The name of a domain. */
export const domainName = z.string().transform((text, context): DomainName => {
  try {
    return parseDomainName(text);
  } catch {
    context.addIssue({ code: 'custom', message: 'not a domain name' });
    return z.NEVER;
  }
});

/** Content of a file of the folder. */
export const domainsFileSchema = z.strictObject({ domains: z.array(domainName) });

/** Maximum of files, above any number kept by hand. */
const maxFiles = 1000;

/** The domains that the files `*.yaml` of a folder name, by file. Throws `UpdaterError('configuration')` that names the file. */
export function readDomainsFolder(folder: string): readonly DomainName[] {
  const files = namesIn(folder).filter((name) => name.endsWith('.yaml') && !name.startsWith('.'));
  if (files.length > maxFiles) throw problem(`domainsDir: folder \`${folder}\` has more than ${maxFiles} files`);
  return files.sort().flatMap((name) => readDomains(join(folder, name)));
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (cause) {
    throw problem(`domainsDir: folder \`${folder}\` cannot be read (${systemCode(cause) ?? 'failed'})`, cause);
  }
}

function readDomains(file: string): readonly DomainName[] {
  const result = domainsFileSchema.safeParse(readMapping(file));
  if (result.success) return result.data.domains;
  throw problem(`configuration \`${file}\`: ${describeProblems(result.error)}`);
}

function problem(message: string, cause?: unknown): UpdaterError {
  return new UpdaterError('configuration', message, { cause });
}
