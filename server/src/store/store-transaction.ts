import { runInSlices } from '@signet/policy-engine/internal/slices';
import { type DomainName, parseDomainName, servicePrincipal } from '@signet/policy-engine/names';
import type { Kysely } from 'kysely';
import type { RecordedCertificate, Revocation, RevocationReason } from '../model/certificate-store.ts';
import type { StoredRequest } from '../model/change-requests.ts';
import { type DomainChange, isEmpty } from '../model/domain-change.ts';
import { emptyDomain } from '../model/empty-domain.ts';
import type { InstanceKey } from '../model/instance-store.ts';
import type { AuditRecord, ChangeContext, SealedKey, SigningKeyRecord } from '../model/records.ts';
import type { LiveSshCertificate, SshSelection } from '../model/ssh-selection.ts';
import type { ObjectKey, RequestDeed, SaveOutcome, StoreState, StoreTransaction } from '../model/store.ts';
import { jsonInSteps } from '../steps/json-steps.ts';
import { objectsOf } from './audit-objects.ts';
import { insertAudit } from './audit-rows.ts';
import { auditTextInSteps } from './audit-text.ts';
import { revokeOne } from './certificate-rows.ts';
import { insertChanges, maxRows, signingKeys, type Touched, touchedBy, wholeDomain } from './change-rows.ts';
import type { Schema } from './database-schema.ts';
import { changesBundleInSteps, diffInSteps } from './diff-domains.ts';
import { type InstanceEnd, removeInstance, revokeInstance } from './end-instance.ts';
import { beginDomain, endDomain, followNames, type NamesContext } from './end-names.ts';
import { claimDnsForm } from './name-rows.ts';
import { leaveEpoch } from './new-epoch.ts';
import { recordCertificate } from './record-certificate.ts';
import { insertRequest, nextRequestId, updateRequest } from './request-rows.ts';
import { insertSigningKey, readSealedKeys, readSigningKeys } from './signing-key-rows.ts';
import { readLiveSshCertificates } from './ssh-certificate-rows.ts';
import { KyselyStoreReader } from './store-reader.ts';
import { liveCertificatesOf, type WithdrawnKey, withdrawnKeys } from './withdrawn-keys.ts';
import { nextPolicyVersion, type PolicyVersion, writeDomain } from './write-domain.ts';

/**
 * The changes of one transaction of the query layer; the change counter grows by one with the first of them. INVARIANT: it does not grow by
 * what anybody can bring about without a right: plans are good for one state of the store.
 */
export class KyselyStoreTransaction extends KyselyStoreReader implements StoreTransaction {
  readonly #db: Kysely<Schema>;
  readonly #context: ChangeContext;
  readonly #now: number;
  readonly #counter: number;
  #epoch: number;
  #nextId: number;
  #auditHead: string;
  /** Things touched by the changes; undefined before the first of them. */
  #touched: Touched[] | undefined;
  /** State: there are audit records without a change. */
  #noted = false;
  /** How many certificates were revoked, by reason. */
  readonly revoked = new Map<RevocationReason, number>();

  constructor(
    db: Kysely<Schema>,
    context: ChangeContext,
    now: number,
    meta: StoreState & { readonly next_id: number; readonly audit_head: string },
  ) {
    super(db, meta);
    this.#db = db;
    this.#context = context;
    this.#now = now;
    this.#counter = meta.counter + 1;
    this.#epoch = meta.epoch;
    this.#nextId = meta.next_id;
    this.#auditHead = meta.audit_head;
  }

  domainNames(): Promise<readonly DomainName[]> {
    return readDomainNames(this.#db);
  }

  async save(change: DomainChange): Promise<SaveOutcome> {
    const { name, before } = change;
    if (before !== undefined && isEmpty(change)) return { kind: 'unchanged', version: before.policyVersion };
    const moves = before === undefined || (await runInSlices(changesBundleInSteps(change.policies)));
    const { version } = await this.#write(change, moves);
    const action = before === undefined ? 'create' : 'change';
    const text = await runInSlices(auditTextInSteps(change));
    await this.#audit({ action, subject: name, version, ...text }, objectsOf(change));
    await this.#endCertificatesOf(name, withdrawnKeys(change.services));
    if (before?.dnsForm === undefined) await this.#claimDnsForm(name, before === undefined);
    if (before === undefined) await beginDomain(this.#names(), name);
    await followNames(this.#names(), change);
    return { kind: before === undefined ? 'created' : 'changed', version };
  }

  async addRequest(request: Omit<StoredRequest, 'id' | 'kind'>): Promise<StoredRequest> {
    const stored = { ...request, kind: request.content.kind, id: await nextRequestId(this.#db) };
    this.#noted = true;
    await insertRequest(this.#db, stored);
    await this.#auditRequest(stored, {
      action: request.state === 'unreviewed' ? 'break-glass' : 'request',
      by: this.#context,
    });
    return stored;
  }

  async saveRequest(request: StoredRequest, deed: RequestDeed): Promise<void> {
    this.#noted = true;
    await updateRequest(this.#db, request);
    await this.#auditRequest(request, deed);
  }

  async #auditRequest({ id, state, kind, domains }: StoredRequest, { action, by, comment }: RequestDeed) {
    const after = JSON.stringify({ state, kind, domains, ...(comment !== undefined && { comment }) });
    await this.#audit({ action, subject: `request.${id}`, after }, [], by);
  }

  async deleteDomain(name: DomainName): Promise<boolean> {
    const before = await this.domain(name);
    if (before === undefined) return false;
    const change = await runInSlices(diffInSteps(before, { ...emptyDomain(name), enabled: false }));
    const { version } = await this.#write(change, true);
    this.#touch(wholeDomain(name));
    await this.#db.updateTable('domains').set({ deleted: 1 }).where('name', '=', name).execute();
    const text = await runInSlices(jsonInSteps(before));
    await this.#audit({ action: 'delete', subject: name, version, before: text }, objectsOf(change));
    await this.#endCertificatesOf(name, withdrawnKeys(change.services));
    await followNames(this.#names(), change);
    await endDomain(this.#names(), name);
    return true;
  }

  signingKeys(): Promise<readonly SigningKeyRecord[]> {
    return readSigningKeys(this.#db);
  }

  sealedKeys(): Promise<ReadonlyMap<string, SealedKey>> {
    return readSealedKeys(this.#db);
  }

  async addSigningKey(record: SigningKeyRecord, sealed?: SealedKey): Promise<void> {
    this.#touch([signingKeys]);
    await insertSigningKey(this.#db, record, sealed);
    await this.#audit({ action: 'add-signing-key', subject: record.kid, after: JSON.stringify(record) });
  }

  async sealSigningKey(kid: string, { sealingKey, text }: SealedKey): Promise<boolean> {
    const known = (await this.signingKeys()).find((key) => key.kid === kid);
    if (known === undefined || known.compromisedAt !== undefined) return false;
    const last = (await this.sealedKeys()).get(kid);
    // Every server looks at the keys again: one that lacked this one may open it now.
    this.#touch([signingKeys]);
    const columns = { sealing_key: sealingKey, sealed: text };
    await this.#db.updateTable('signing_keys').set(columns).where('kid', '=', kid).execute();
    const before = JSON.stringify(last === undefined ? {} : { sealingKey: last.sealingKey });
    await this.#audit({ action: 'seal-signing-key', subject: kid, before, after: JSON.stringify({ sealingKey }) });
    return true;
  }

  async activateSigningKey(kid: string, at: number): Promise<boolean> {
    const known = (await this.signingKeys()).find((key) => key.kid === kid);
    if (known === undefined || known.compromisedAt !== undefined || known.activateAt <= at) return false;
    this.#touch([signingKeys]);
    await this.#db.updateTable('signing_keys').set({ activate_at: at }).where('kid', '=', kid).execute();
    const before = JSON.stringify({ activateAt: known.activateAt });
    const after = JSON.stringify({ activateAt: at });
    await this.#audit({ action: 'activate-signing-key', subject: kid, before, after });
    return true;
  }

  async markKeyCompromised(kid: string, at: number): Promise<boolean> {
    const known = (await this.signingKeys()).find((key) => key.kid === kid);
    if (known === undefined) return false;
    if (known.compromisedAt !== undefined) return true;
    this.#touch([signingKeys]);
    const columns = { compromised_at: at, sealing_key: null, sealed: null };
    await this.#db.updateTable('signing_keys').set(columns).where('kid', '=', kid).execute();
    const after = JSON.stringify({ compromisedAt: at });
    await this.#audit({ action: 'mark-key-compromised', subject: kid, before: JSON.stringify({}), after });
    return true;
  }

  async recordCertificate(certificate: RecordedCertificate): Promise<void> {
    const { serial, principal, details } = certificate;
    await recordCertificate(this.#db, certificate);
    this.#noted = true;
    const after = JSON.stringify({ serial, ...details });
    await this.#audit({ action: 'issue-certificate', subject: principal, after });
  }

  async revokeCertificate(serial: string, revocation: Revocation): Promise<boolean> {
    const revoked = await revokeOne(this.#db, serial, revocation);
    if (revoked === undefined) return false;
    this.#touch([]);
    const { kind, subject, holder, not_after: notAfter, asked } = revoked;
    this.#countRevoked(revocation.reason, 1 + asked.length);
    const before = JSON.stringify({ kind, subject, holder, notAfter });
    const after = JSON.stringify({
      at: revocation.at,
      reason: revocation.reason,
      ...(asked.length > 0 && { asked }),
    });
    await this.#audit({ action: 'revoke-certificate', subject: serial, before, after });
    return true;
  }

  async revokeInstance(key: InstanceKey, revocation: Revocation): Promise<boolean> {
    return this.#ended(revocation, await revokeInstance(this.#db, key, revocation));
  }

  async removeInstance(key: InstanceKey, revocation: Revocation): Promise<boolean> {
    return this.#ended(revocation, await removeInstance(this.#db, key, revocation));
  }

  async recordForeignRefresh(key: InstanceKey, presented: string): Promise<void> {
    this.#noted = true;
    const subject = `${key.provider}/${key.domain}/${key.service}/${key.instanceId}`;
    await this.#audit({ action: 'refuse-refresh', subject, after: JSON.stringify({ presented }) });
  }

  async noteRefusedCredentials(counts: Readonly<Record<string, number>>): Promise<void> {
    this.#noted = true;
    await this.#audit({ action: 'refuse-credentials', subject: 'credentials', after: JSON.stringify(counts) });
  }

  async acceptClock(): Promise<void> {
    this.#noted = true;
    await this.#audit({ action: 'accept-clock', subject: 'store' });
  }

  async newEpoch(above = 0): Promise<number> {
    const before = JSON.stringify({ epoch: this.#epoch });
    this.#epoch = Math.max(this.#epoch, above) + 1;
    this.#touch([]);
    const left = await leaveEpoch(this.#db, this.#seconds());
    const after = JSON.stringify({ epoch: this.#epoch, ...left });
    await this.#audit({ action: 'new-epoch', subject: 'store', before, after });
    return this.#epoch;
  }

  liveSshCertificates(selection: SshSelection, now: number): Promise<readonly LiveSshCertificate[]> {
    return readLiveSshCertificates(this.#db, selection, now);
  }

  /** A service's certificate ends with the key that vouched for it. */
  async #endCertificatesOf(domain: DomainName, keys: readonly WithdrawnKey[]): Promise<void> {
    const at = this.#seconds();
    for (const { service, id } of keys) {
      const serials = await liveCertificatesOf(this.#db, servicePrincipal(domain, service), id, at);
      const revocation = { reason: 'cessation-of-operation', at, by: `key ${id} withdrawn` } as const;
      for (const serial of serials) await this.revokeCertificate(serial, revocation);
    }
  }

  async #claimDnsForm(name: DomainName, isNew: boolean): Promise<void> {
    const hasIt = await claimDnsForm(this.#db, name, isNew);
    if (hasIt && !isNew) this.#touch([{ kind: 'domain', domain: name, key: 'lists' }]);
  }

  #seconds(): number {
    return Math.floor(this.#now / 1000);
  }

  #names(): NamesContext {
    return {
      db: this.#db,
      now: this.#now,
      actor: this.#context.actor,
      audit: (record) => this.#audit(record),
      revoked: (reason, count) => this.#countRevoked(reason, count),
    };
  }

  async #ended({ reason }: Revocation, end: InstanceEnd | undefined): Promise<boolean> {
    if (end === undefined) return false;
    this.#touch([]);
    const { certificates, ...record } = end;
    this.#countRevoked(reason, certificates);
    await this.#audit(record);
    return true;
  }

  #countRevoked(reason: RevocationReason, count: number): void {
    if (count > 0) this.revoked.set(reason, (this.revoked.get(reason) ?? 0) + count);
  }

  /** Writes the counters and the feed. The last statements of a transaction; false when there is nothing to write. */
  async finish(): Promise<boolean> {
    if (this.#touched === undefined && !this.#noted) return false;
    const counters = { epoch: this.#epoch, counter: this.#reached(), next_id: this.#nextId };
    await this.#db
      .updateTable('meta')
      .set({ ...counters, audit_head: this.#auditHead })
      .where('id', '=', 1)
      .execute();
    if (this.#touched !== undefined) {
      await insertChanges(this.#db, { counter: this.#counter, head: this.#auditHead }, this.#touched);
    }
    return true;
  }

  /**
   * INVARIANT: every change of the store names the touched things, or states that a snapshot shows none of them. Beyond the limit nothing is
   * collected.
   */
  #touch(touched: readonly Touched[]): void {
    this.#touched ??= [];
    if (this.#touched.length < maxRows) this.#touched.push(...touched);
  }

  #reached(): number {
    return this.#touched === undefined ? this.#counter - 1 : this.#counter;
  }

  /** Writes a change; returns the policy version after it. That of a deleted domain is kept. */
  async #write(change: DomainChange, moves: boolean): Promise<PolicyVersion> {
    this.#touch(touchedBy(change));
    const domains = this.#db.selectFrom('domains').where('name', '=', change.name);
    const last = await domains.select(['policy_version as version', 'policy_modified as modified']).executeTakeFirst();
    const policy = moves || last === undefined ? nextPolicyVersion(last, this.#now) : last;
    const context = { db: this.#db, now: this.#now, policy: { ...policy, moves }, nextId: () => this.#nextId++ };
    await writeDomain(context, change);
    return policy;
  }

  /** `objects` are the things of a domain that the change is about. */
  async #audit(
    change: Pick<AuditRecord, 'action' | 'subject' | 'version' | 'before' | 'after'>,
    objects: readonly ObjectKey[] = [],
    by: Pick<ChangeContext, 'actor' | 'certificateSerial'> = this.#context,
  ): Promise<void> {
    const { certificateSerial: _, ...context } = this.#context;
    const { actor, certificateSerial: serial } = by;
    const credential = serial !== undefined && { certificateSerial: serial };
    const record = { ...context, actor, ...credential, ...change, id: this.#nextId++, at: this.#now };
    this.#auditHead = await insertAudit(this.#db, record, { counter: this.#reached(), head: this.#auditHead }, objects);
  }
}

export async function readDomainNames(db: Kysely<Schema>): Promise<readonly DomainName[]> {
  const rows = await db.selectFrom('domains').select('name').where('deleted', '=', 0).orderBy('name').execute();
  return rows.map((row) => parseDomainName(row.name));
}
