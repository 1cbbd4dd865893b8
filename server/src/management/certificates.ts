import { type Clock, epochSeconds, formatTimestamp } from '@signet/policy-engine/clock';
import { type DomainName, type PrincipalName, splitPrincipal } from '@signet/policy-engine/names';
import { z } from 'zod';
import { grantsExactly } from '../access/exact-access.ts';
import { credentialsOf } from '../access/known-identity.ts';
import { InvalidRequestError, NotFoundError } from '../errors.ts';
import { type CertificateRecord, type CertificateRow, revocationReasons } from '../model/certificate-store.ts';
import type { Compared } from '../roles/granted-roles.ts';
import { isUser, type Snapshot } from '../snapshot/snapshot.ts';
import { issueTimeOf } from '../x509/build-certificate.ts';
import { asAsked, changeAndFollow, type ManagementDeps } from './change-domain.ts';
import type { ChangeRequest } from './judge-edit.ts';
import { rightsOf, systemDomain } from './rights.ts';

/** Maximum of hexadecimal digits in a serial number: twenty octets (RFC 5280 §4.1.2.2). */
const maxSerialDigits = 40;

/** A serial number as `openssl` and browsers write it: with colons or without, in either case. Throws `InvalidRequestError`. */
export function parseSerial(text: string): string {
  const plain = text.replaceAll(':', '').toLowerCase();
  if (text.length <= 2 * maxSerialDigits && /^[0-9a-f]+$/.test(plain) && plain.length <= maxSerialDigits) return plain;
  throw new InvalidRequestError(`serial must be at most ${maxSerialDigits} hexadecimal digits, with or without colons`);
}

/** Body of the revocation of a certificate. */
export const revocationSchema = z.strictObject({ reason: z.enum(revocationReasons) });

type Revocation = z.output<typeof revocationSchema>;

/** A certificate as commands and the API show it. */
export interface ShownCertificate {
  /** `intended`: it may have been signed, and was not handed out. */
  readonly state: 'intended' | 'valid' | 'expired' | 'revoked';
  readonly revoked?: { readonly at: string; readonly reason: string };
  readonly [field: string]: unknown;
}

export function shownRow(row: CertificateRow) {
  const { serial, kind, subject, holder, provider, instanceId, vouchedKey, notBefore, notAfter } = row;
  return {
    serial,
    kind,
    subject,
    holder,
    ...(provider !== undefined && { provider, instanceId }),
    ...(vouchedKey !== undefined && { vouchedKey }),
    notBefore: formatTimestamp(notBefore * 1000),
    notAfter: formatTimestamp(notAfter * 1000),
  };
}

export function shownCertificate(record: CertificateRecord, clock: Clock): ShownCertificate {
  const { revoked, notAfter, state } = record;
  const isOver = notAfter < epochSeconds(clock);
  const own = state === 'intended' ? 'intended' : isOver ? 'expired' : 'valid';
  return {
    ...shownRow(record),
    state: revoked === undefined ? own : 'revoked',
    ...(revoked !== undefined && {
      revoked: { at: formatTimestamp(revoked.revokedAt * 1000), reason: revoked.reason },
    }),
  };
}

/** Same text for a certificate that does not exist and for one of others. */
function noSuchCertificate(): NotFoundError {
  return new NotFoundError('there is no such certificate');
}

/** Issue time (seconds) from which a caller may look at the certificates of a holder and revoke them; undefined: it may not. */
type ManagedSince = (holder: PrincipalName) => number | undefined;

/**
 * Its holder, the administrators of the holder's domain, holders of `revoke` on `<domain>:certificate` (for people `sys.auth:certificate`), and
 * system operators may look at a certificate and revoke it. INVARIANT: certificates of a deleted service or domain belong to no later one of the
 * same name; system operators manage these.
 */
export function certificateRights(
  snapshot: Snapshot,
  caller: PrincipalName,
  now: number,
  compared: Compared,
): ManagedSince {
  const rights = rightsOf(snapshot, caller, now, compared);
  const managesAll = (domain: DomainName) => {
    if (rights.administers(domain)) return true;
    const query = { principal: caller, action: 'revoke', domain, object: 'certificate' } as const;
    return grantsExactly(snapshot, query, now, compared);
  };
  return (holder) => {
    const domain = isUser(holder) ? systemDomain : splitPrincipal(holder)?.domain;
    if (rights.operates(domain ?? systemDomain) || rights.operates(systemDomain)) return 0;
    if (domain !== undefined && managesAll(domain)) {
      return isUser(holder) ? 0 : seconds(snapshot.domain(domain)?.credentialsFrom ?? 0);
    }
    return holder === caller ? seconds(credentialsOf(holder, snapshot)) : undefined;
  };
}

function seconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}

function manages(managedSince: ManagedSince, record: CertificateRecord): boolean {
  const since = managedSince(record.holder);
  return since !== undefined && issueTimeOf(record) >= since;
}

/** The certificate of this serial number, for a caller who may look at it. Throws `NotFoundError`. */
export async function certificateForCaller(
  { store }: Pick<ManagementDeps, 'store'>,
  managedSince: ManagedSince,
  serial: string,
): Promise<CertificateRecord> {
  const record = await store.certificates.find(serial);
  if (record === undefined || !manages(managedSince, record)) throw noSuchCertificate();
  return record;
}

/** Revokes a certificate for a caller who may, and answers its record, also when it was revoked before. Throws `NotFoundError`. */
export async function revokeForCaller(
  deps: ManagementDeps,
  request: Pick<ChangeRequest, 'caller' | 'certificate' | 'context'> & { readonly compared: Compared },
  serial: string,
  { reason }: Revocation,
): Promise<CertificateRecord> {
  const { caller, compared } = request;
  const { store, clock } = deps;
  const rightsIn = (snapshot: Snapshot) => certificateRights(snapshot, caller, clock.now(), compared);
  await deps.refresh();
  const record = await certificateForCaller(deps, rightsIn(deps.snapshot()), serial);
  if (record.revoked !== undefined) return record;
  await changeAndFollow(deps, request, async (transaction) => {
    const { snapshot } = await asAsked(deps, request, transaction);
    if (!manages(rightsIn(snapshot()), record)) throw noSuchCertificate();
    await transaction.revokeCertificate(serial, { reason, at: epochSeconds(clock), by: caller });
  });
  return (await store.certificates.find(serial)) ?? record;
}
