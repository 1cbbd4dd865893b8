import type { ChangeFacts } from '@signet/server/management/change-rule';
import { StoreAfter } from '@signet/server/management/store-after';
import type { DomainChange } from '@signet/server/model/domain-change';
import type { DomainContent } from '@signet/server/model/records';
import type { StoreReader } from '@signet/server/model/store';
import { diffDomains } from '@signet/server/store/diff-domains';
import { stored } from './domains.ts';
import { memoryReader } from './memory-reader.ts';

/** Change that makes `after` of a domain that is stored as `before`. */
export function changeOf(before: DomainContent | undefined, after: DomainContent): DomainChange {
  return diffDomains(before && stored(before), after);
}

/** Facts for judging a change in a store of these domains, made together with `others`. */
export function factsOf(
  change: DomainChange,
  domains: readonly DomainContent[],
  more: Partial<ChangeFacts> & {
    readonly others?: readonly DomainChange[];
    readonly answers?: Partial<StoreReader>;
  } = {},
): ChangeFacts {
  const { others = [], answers, ...facts } = more;
  const reader = memoryReader(domains, answers);
  const after = new StoreAfter(reader, [change, ...others.filter(({ name }) => name !== change.name)]);
  return { reader, after, now: 1000, allowWildcard: false, sees: () => true, ...facts };
}
