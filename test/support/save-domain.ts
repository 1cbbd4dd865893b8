import { runInSlices } from '@signet/policy-engine/internal/slices';
import type { DomainContent } from '@signet/server/model/records';
import type { SaveOutcome, StoreTransaction } from '@signet/server/model/store';
import { diffInSteps } from '@signet/server/store/diff-domains';

/** Makes the domain exactly this, whatever it was. */
export async function saveDomain(transaction: StoreTransaction, content: DomainContent): Promise<SaveOutcome> {
  return transaction.save(await runInSlices(diffInSteps(await transaction.domain(content.name), content)));
}
