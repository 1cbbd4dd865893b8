import type { BundleForm } from '@signet/policy-engine/bundle';
import type { DomainSnapshot } from '../snapshot/snapshot.ts';

/** Distinction that the tags of a bundle make, but for the time of its issue. */
interface EditionName {
  readonly epoch: number;
  readonly domain: Pick<DomainSnapshot, 'policyVersion' | 'policyModified'>;
  /** The key that signs it. */
  readonly kid: string;
  /** The digest of a choice of versions with a dot in front, or empty. */
  readonly selection: string;
}

/** Id of the content that is signed at `issued`, in milliseconds since the epoch, in whichever form. */
export function editionId(name: EditionName, issued: number): string {
  return `${beginOf(name)}${timesOf(name.domain, issued)}${endOf(name)}`;
}

/** Weak entity tag in a form. */
export function editionTag(name: EditionName, issued: number, form: BundleForm): string {
  return `W/"${editionId(name, issued)}.${form}${name.selection}"`;
}

/** True if a tag, with its quotes, is that of the same edition in one of these forms, issued after `issued` and no later than `latest`. */
export function isLaterTag(
  opaque: string,
  name: EditionName,
  { issued, latest }: { readonly issued: number; readonly latest: number },
  forms: readonly BundleForm[],
): boolean {
  const begin = `"${beginOf(name)}`;
  if (!opaque.startsWith(begin)) return false;
  const time = Number.parseInt(opaque.slice(begin.length), 36);
  return time > issued && time <= latest && forms.some((form) => editionTag(name, time, form) === `W/${opaque}`);
}

function beginOf({ epoch, domain }: EditionName): string {
  return `${epoch}.${domain.policyVersion}.`;
}

function endOf({ kid }: EditionName): string {
  return `.${kid.slice(0, 8)}`;
}

/**
 * Times in a tag: that of issue, and that of the policies' change if it differs: a history of the store that lost changes has another text under
 * the same version.
 */
export function timesOf({ policyModified }: EditionName['domain'], time: number): string {
  const times = policyModified === time ? [time] : [time, policyModified];
  return times.map((one) => one.toString(36)).join('-');
}
