import { hash } from 'node:crypto';
import { formatTimestamp } from '@signet/policy-engine/clock';
import type { PrincipalName } from '@signet/policy-engine/names';
import { type Asker, type DecideAgainDeps, decidedAgain } from '../access/recording-conditions.ts';
import type { CertificateKind, RecordedCertificate } from '../model/certificate-store.ts';
import type { ChangeContext } from '../model/records.ts';
import type { Store } from '../model/store.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { type CertificateOrder, type IssueDeps, signOrder } from '../x509/issue-certificate.ts';
import type { Issuers } from '../x509/issuers.ts';
import type { NamingRules } from '../x509/naming.ts';

/** Dependencies of issuing a certificate to a principal with an audit record. */
export interface IssueRecordedDeps extends IssueDeps, DecideAgainDeps {
  readonly rules: NamingRules;
  readonly issuers: Pick<Issuers, 'signing' | 'current'>;
  readonly store: Pick<Store, 'change'>;
  /** Called for each one that was recorded. */
  readonly onIssued?: ((kind: CertificateKind) => void) | undefined;
}

/** The answer: the certificate with its chain, and what to trust; PEM. */
export interface IssuedIdentity {
  readonly name: PrincipalName;
  readonly certificate: string;
  readonly caCertBundle: string;
}

/** Caller, and the conditions that must still hold where the certificate is recorded. */
interface Recording {
  readonly context: ChangeContext;
  /** Caller and its certificate; absent: a token authenticated it. */
  readonly asker?: Asker | undefined;
  readonly token?: RecordedCertificate['token'];
  /** Throws when the right is not there. */
  readonly decide: (snapshot: Snapshot) => unknown;
  /** Details of the audit record beside the certificate. */
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Signs, and records it with its audit record in one transaction, in which the right is decided again (decision 011). */
export async function issueRecorded(
  deps: IssueRecordedDeps,
  order: CertificateOrder,
  { context, asker, token, decide, details }: Recording,
): Promise<IssuedIdentity> {
  const signed = await signOrder(deps, order);
  const { serial, fingerprint, notAfter, pem, chainPem } = signed;
  const conditions = decidedAgain(deps, asker, decide);
  await deps.store.change(context, async (transaction) => {
    await conditions.decide(transaction.source());
    await transaction.recordCertificate({
      serial,
      fingerprint,
      principal: order.holder,
      presented: conditions.presented,
      token,
      details: {
        kind: order.kind,
        notAfter: formatTimestamp(notAfter * 1000),
        key: hash('sha256', order.subjectKey.spki, 'base64url'),
        ...details,
      },
    });
  });
  deps.onIssued?.(order.kind);
  const { rootsPem } = deps.issuers.current();
  return { name: order.holder, certificate: `${pem}${chainPem}`, caCertBundle: `${chainPem}${rootsPem}` };
}
