import type { Migration } from 'kysely/migration';
import { createDomainTables } from './001-domains.ts';
import { createRecordTables } from './002-records.ts';
import { chainAudit } from './003-audit-chain.ts';
import { addPagingSecret } from './004-paging-secret.ts';
import { addObjectChanges } from './005-object-changes.ts';
import { addMemberCounts } from './006-member-counts.ts';
import { indexInstancesByDomain } from './007-instances-by-domain.ts';
import { indexReviews } from './009-reviews.ts';
import { indexSshCertificates } from './010-ssh-certificates.ts';
import { slimCertificateIndices } from './011-certificate-indices.ts';
import { indexInstancesByEnd } from './012-instances-by-end.ts';
import { indexInstanceCertificates } from './013-instance-certificates.ts';
import { indexJoinTokensByEnd } from './014-join-tokens-by-end.ts';
import { dropInstancesByEnd } from './015-instances-go-with-certificates.ts';

/** Every step of the schema, in order. A step that was released is never edited: a new one is added below it. */
export const migrations: Readonly<Record<string, Migration>> = {
  '001-domains': { up: createDomainTables },
  '002-records': { up: createRecordTables },
  '003-audit-chain': { up: chainAudit },
  '004-paging-secret': { up: addPagingSecret },
  '005-object-changes': { up: addObjectChanges },
  '006-member-counts': { up: addMemberCounts },
  '007-instances-by-domain': { up: indexInstancesByDomain },
  '009-reviews': { up: indexReviews },
  '010-ssh-certificates': { up: indexSshCertificates },
  '011-certificate-indices': { up: slimCertificateIndices },
  '012-instances-by-end': { up: indexInstancesByEnd },
  '013-instance-certificates': { up: indexInstanceCertificates },
  '014-join-tokens-by-end': { up: indexJoinTokensByEnd },
  '015-instances-go-with-certificates': { up: dropInstancesByEnd },
};
