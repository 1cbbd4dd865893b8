import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { type PrincipalName, parsePrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { applyDocuments } from '../../management/apply-documents.ts';
import { readDocumentFolder } from '../../management/documents/read-folder.ts';
import type { ChangeContext } from '../../model/records.ts';
import type { Store } from '../../model/store.ts';
import { isUser } from '../../snapshot/snapshot.ts';
import { serverName, serverPrincipal } from '../../x509/own-identity.ts';
import { UsageError } from '../usage-error.ts';

/** Default administrator of a new server. */
export const usualAdministrator = 'sys.auth.operator';

/** A user, or a service of `sys.auth`: the services of other domains do not exist yet. Throws `UsageError`, `InvalidNameError`. */
export function parseAdministrator(text: string, field = '--operator'): PrincipalName {
  const name = parsePrincipalName(text, field);
  const isOwnService = splitPrincipal(name)?.domain === serverName.domain && name !== serverPrincipal;
  if (isUser(name) || isOwnService) return name;
  throw new UsageError(
    `${field} must be a user (\`user.jane\`) or a service of \`sys.auth\` beside the server itself, got \`${name}\``,
  );
}

/** The document of `sys.auth` in which this principal is the one administrator, and join tokens register instances. */
export function systemDocument(administrator: PrincipalName): string {
  const parts = splitPrincipal(administrator);
  const service = parts?.domain === serverName.domain ? parts.service : undefined;
  return `# The system itself: who operates it, and its own services. Edit it, then: signet apply <this folder>
domain: sys.auth
description: Signet's own domain

roles:
  admin:
    description: System operators
    members: [${administrator}]
  providers:
    description: Who may vouch for new instances; each domain says for which of its services
    members: [${serverPrincipal}]

policies:
  administration:
    - { effect: allow, action: "*", resource: "*", role: admin }
  instances:
    - { effect: allow, action: launch, resource: instance, role: providers }

services:
  server:
    description: The token server, which vouches for instances with a join token
${service === undefined ? '' : `  ${service}:\n    description: The first operator's identity\n`}`;
}

/** Writes the document into a folder, and loads that folder as `signet apply` does. Answers the file. */
export async function makeAdministrator(
  store: Store,
  { folder, administrator }: { readonly folder: string; readonly administrator: PrincipalName },
  context: ChangeContext,
  now: number,
): Promise<string> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, 'sys.auth.yaml');
  await replaceFile(file, systemDocument(administrator), { mode: 0o600 });
  await applyDocuments(store, readDocumentFolder(folder), context, { now });
  return file;
}
