import type { Findings } from './findings.ts';

/* Members of an export without a place in a document. */

/** Members that are read, and those that only tell of the past or of what ZMS does by itself, by the kind of part. */
const known = {
  'the domain': [
    ...['name', 'description', 'enabled', 'auditEnabled', 'account', 'roles', 'groups', 'policies', 'services'],
    ...['tokenExpiryMins', 'serviceCertExpiryMins', 'roleCertExpiryMins', 'modified', 'id', 'resourceOwnership'],
  ],
  roles: [
    ...['name', 'description', 'trust', 'members', 'roleMembers', 'tokenExpiryMins', 'certExpiryMins'],
    ...['modified', 'auditLog', 'lastReviewedDate', 'resourceOwnership', 'reviewEnabled', 'selfServe'],
  ],
  groups: ['name', 'description', 'groupMembers', 'modified', 'auditLog', 'lastReviewedDate', 'resourceOwnership'],
  members: [
    ...['memberName', 'expiration', 'reviewReminder', 'active', 'approved', 'pending', 'systemDisabled'],
    ...['principalType', 'auditRef', 'requestTime', 'requestPrincipal', 'lastNotifiedTime', 'reviewLastNotifiedTime'],
    ...['groupName', 'domainName', 'pendingState'],
  ],
  policies: [
    ...['name', 'description', 'version', 'active', 'caseSensitive', 'assertions', 'modified', 'resourceOwnership'],
  ],
  assertions: ['role', 'action', 'resource', 'effect', 'id', 'caseSensitive', 'conditions'],
  services: ['name', 'description', 'providerEndpoint', 'hosts', 'publicKeys', 'modified', 'resourceOwnership'],
} as const;

/** Every such member once. */
export const knownMembers: ReadonlySet<string> = new Set(Object.values(known).flat());

/** Reports each member of a part that is not read and says something. */
export function reportLeftOver(findings: Findings, kind: keyof typeof known, name: string, part: object): void {
  const read: readonly string[] = known[kind];
  for (const [member, value] of Object.entries(part)) {
    if (!read.includes(member) && !isNothing(value)) findings.notice(`\`${member}\` of ${kind} is not imported`, name);
  }
}

function isNothing(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return [undefined, null, false, 'false', 0, '0', ''].includes(value as null);
}
