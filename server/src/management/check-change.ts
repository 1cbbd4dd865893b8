import { yieldToOthers } from '@signet/policy-engine/internal/slices';
import type { DomainChange } from '../model/domain-change.ts';
import { enoughApprovers, protectedMembers } from './approval-rules.ts';
import { bundleSizeOfDomain } from './bundle-size.ts';
import type { ChangeFacts, ChangeFault, ChangeRule } from './change-rule.ts';
import { dnsForms, membershipsOfServices, reservedNames, serverService } from './name-safeguards.ts';
import { plantedKeys } from './planted-keys.ts';
import { quotasOfDomain } from './quotas.ts';
import {
  lastAdministrator,
  ownGroups,
  references,
  rolesOfAssertions,
  systemDomains,
  userServices,
  wildcardMembers,
} from './safeguards.ts';

/** Rules of every change, in the order of their precedence in errors. */
const rules: readonly ChangeRule[] = [
  quotasOfDomain,
  bundleSizeOfDomain,
  wildcardMembers,
  lastAdministrator,
  systemDomains,
  userServices,
  rolesOfAssertions,
  ownGroups,
  dnsForms,
  reservedNames,
  serverService,
  membershipsOfServices,
  references,
  protectedMembers,
  enoughApprovers,
  plantedKeys,
];

/** Throws the error of the first rule that a change breaks. */
export async function checkChange(change: DomainChange, facts: ChangeFacts): Promise<void> {
  for (const rule of rules) {
    const [fault] = await rule(change, facts);
    if (fault !== undefined) throw fault.error;
    await yieldToOthers();
  }
}

/** All violations by a change of a document, whose references are looked up with all others. */
export async function findFaults(change: DomainChange, facts: ChangeFacts): Promise<readonly ChangeFault[]> {
  const faults: (readonly ChangeFault[])[] = [];
  for (const rule of rules) if (rule !== references) faults.push(await rule(change, facts));
  return faults.flat();
}
