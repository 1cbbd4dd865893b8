import type { Migration } from 'kysely/migration';
import type { LargeIndex } from '../large-index.ts';
import { createDomainTables } from './001-domains.ts';
import { createRecordTables } from './002-records.ts';
import { chainAudit } from './003-audit-chain.ts';
import { addPagingSecret } from './004-paging-secret.ts';
import { addObjectChanges } from './005-object-changes.ts';
import { addMemberCounts } from './006-member-counts.ts';
import { addIndices } from './007-indices.ts';
import { addLineage } from './008-lineage.ts';
import { addNames } from './009-names.ts';
import { addDelegatedKeys } from './010-delegated-keys.ts';
import { addSequence } from './011-sequence.ts';
import { addChanges } from './012-changes.ts';
import { addPolicyVersion } from './013-policy-version.ts';
import { mergeMembers } from './014-members.ts';
import { keepRevocationLists } from './016-revocation-lists.ts';
import { addSealedKeys } from './017-sealed-keys.ts';
import { orderReviews, reviewsInOrder } from './018-reviews-in-order.ts';
import { addBundleReaders } from './019-bundle-readers.ts';
import { addApprovals } from './020-approvals.ts';

/**
 * Every step of the schema, in order. A step that was released is never edited: a new one is added below it, and `npm run reference` writes down
 * what it makes (`schema-steps.json`).
 */
export const migrations: Readonly<Record<string, Migration>> = {
  '001-domains': { up: createDomainTables },
  '002-records': { up: createRecordTables },
  '003-audit-chain': { up: chainAudit },
  '004-paging-secret': { up: addPagingSecret },
  '005-object-changes': { up: addObjectChanges },
  '006-member-counts': { up: addMemberCounts },
  '007-indices': { up: addIndices },
  '008-lineage': { up: addLineage },
  '009-names': { up: addNames },
  '010-delegated-keys': { up: addDelegatedKeys },
  '011-sequence': { up: addSequence },
  '012-changes': { up: addChanges },
  '013-policy-version': { up: addPolicyVersion },
  '014-members': { up: mergeMembers },
  '016-revocation-lists': { up: keepRevocationLists },
  '017-sealed-keys': { up: addSealedKeys },
  '018-reviews-in-order': { up: orderReviews },
  '019-bundle-readers': { up: addBundleReaders },
  '020-approvals': { up: addApprovals },
};

/**
 * Number of steps that a program must know to work with the schema that all of them make. A step that only adds things unknown to older programs
 * leaves it: they keep running beside this one while servers are replaced one after the other. Any other step raises it to its own place.
 */
export const stepsNeeded = 17;

/** Indices that PostgreSQL gets after the steps. */
export const largeIndices: readonly LargeIndex[] = [reviewsInOrder];
