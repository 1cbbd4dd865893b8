import type { BundleForm } from '@signet/policy-engine/bundle';
import type { DomainSnapshot } from '../snapshot/snapshot.ts';
import { gridSpan } from './issue-grid.ts';

/** Values on which a bundle of a domain depends beside the domain. */
interface Moment {
  /** The key that signs. */
  readonly key: object;
  readonly epoch: number;
  /** Milliseconds since the epoch of Unix. */
  readonly now: number;
}

interface Kept<Bundle> extends Omit<Moment, 'now'> {
  readonly bundle: Bundle;
  /** The part of the grid in which it holds. */
  readonly from: number;
  readonly until: number;
}

/**
 * Cache of `make` for a domain's bundle in a form, until the domain, the key or the epoch is another one or the grid moves on: most requests for
 * a bundle find it unchanged.
 */
export function keptBundles<Bundle>(
  lifetimeMs: number,
  make: (domain: DomainSnapshot, form: BundleForm) => Bundle,
): (domain: DomainSnapshot, form: BundleForm, moment: Moment) => Bundle {
  const known = new WeakMap<DomainSnapshot, Map<BundleForm, Kept<Bundle>>>();
  return (domain, form, { key, epoch, now }) => {
    const forms = known.get(domain) ?? new Map<BundleForm, Kept<Bundle>>();
    const last = forms.get(form);
    if (last?.key === key && last.epoch === epoch && now >= last.from && now < last.until) return last.bundle;
    const bundle = make(domain, form);
    forms.set(form, { bundle, key, epoch, ...gridSpan(now, domain, lifetimeMs) });
    known.set(domain, forms);
    return bundle;
  };
}
