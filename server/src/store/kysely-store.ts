import type { Clock } from '@signet/policy-engine/clock';
import type { DomainName } from '@signet/policy-engine/names';
import type { Kysely } from 'kysely';
import { DomainError } from '../errors.ts';
import type { CertificateStore, RevocationReason } from '../model/certificate-store.ts';
import type { InstanceStore } from '../model/instance-store.ts';
import type { AuditRecord, ChangeContext, DomainRecord, SealedKey, SigningKeyRecord } from '../model/records.ts';
import type { DueReview, DueReviewQuery } from '../model/reviews.ts';
import type {
  AuditPage,
  AuditQuery,
  AuditVerdict,
  Knows,
  Moment,
  NewestRecord,
  PoolUse,
  Store,
  StoreChanges,
  StoreCondition,
  StoreContents,
  StoreGap,
  StoreReader,
  StoreState,
  StoreTransaction,
} from '../model/store.ts';
import { FairTurns } from '../turns/fair-turns.ts';
import { laneOf } from '../turns/lane-of.ts';
import { verifyAuditChain } from './audit-chain.ts';
import { readAudit, readAuditPage } from './audit-rows.ts';
import type { Schema } from './database-schema.ts';
import { readDueReviews } from './due-reviews.ts';
import { guardDatabase } from './guarded-database.ts';
import { KyselyCertificateStore } from './kysely-certificate-store.ts';
import { KyselyInstanceStore } from './kysely-instance-store.ts';
import { readChanges, readContents, readState } from './read-changes.ts';
import { readDomains } from './read-domains.ts';
import { createRecorder } from './recorder.ts';
import { pruneRequests } from './request-rows.ts';
import { readSealedKeys, readSigningKeys } from './signing-key-rows.ts';
import type { StoreDatabase } from './store-database.ts';
import { KyselyStoreReader } from './store-reader.ts';
import { KyselyStoreTransaction, readDomainNames } from './store-transaction.ts';

/** A store over any database of the query layer. */
export class KyselyStore implements Store {
  readonly certificates: CertificateStore;
  readonly instances: InstanceStore;
  readonly #database: StoreDatabase;
  readonly #clock: Clock;
  readonly #onRevoked: ((reason: RevocationReason, count: number) => void)[] = [];
  /** Turns of changes. */
  readonly #turns = new FairTurns();

  constructor(database: StoreDatabase, clock: Clock) {
    const guarded = guardDatabase(database);
    const recorder = createRecorder(guarded);
    this.certificates = new KyselyCertificateStore(guarded, recorder);
    this.instances = new KyselyInstanceStore(guarded, recorder);
    this.#database = database;
    this.#clock = clock;
  }

  state(): Promise<StoreState> {
    return this.#guard(async () => this.#database.state?.() ?? readState(await this.#database.reader()));
  }

  changesSince(known: StoreState, knows?: Knows): Promise<StoreChanges | StoreGap> {
    return this.#view((db) => readChanges(db, known, knows));
  }

  everything<Result>(work: (contents: StoreContents) => Promise<Result>): Promise<Result> {
    return this.#view(async (db) => work(await readContents(db)));
  }

  view<Result>(work: (reader: StoreReader) => Promise<Result>): Promise<Result> {
    return this.#view(async (db) => work(new KyselyStoreReader(db, await readState(db))));
  }

  domain(name: DomainName): Promise<DomainRecord | undefined> {
    return this.#view(async (db) => (await readDomains(db, [name]))[0]);
  }

  domainNames(): Promise<readonly DomainName[]> {
    return this.#read(readDomainNames);
  }

  signingKeys(): Promise<readonly SigningKeyRecord[]> {
    return this.#read(readSigningKeys);
  }

  sealedKeys(): Promise<ReadonlyMap<string, SealedKey>> {
    return this.#read(readSealedKeys);
  }

  dueReviews(query: DueReviewQuery): Promise<readonly DueReview[]> {
    return this.#read((db) => readDueReviews(db, query));
  }

  audit(query: AuditQuery): Promise<readonly AuditRecord[]> {
    return this.#read((db) => readAudit(db, query));
  }

  auditPage(query: AuditQuery): Promise<AuditPage> {
    return this.#read((db) => readAuditPage(db, query));
  }

  pruneRequests(endedBefore: number, limit: number): Promise<number> {
    return this.#guard(() => this.#database.transactAlone((db) => pruneRequests(db, endedBefore, limit)));
  }

  pagingSecret(): Promise<Uint8Array> {
    return this.#read(async (db) => {
      const meta = await db.selectFrom('meta').select('paging_secret').where('id', '=', 1).executeTakeFirstOrThrow();
      return Buffer.from(meta.paging_secret, 'base64url');
    });
  }

  memberCount(): Promise<number> {
    return this.#read(async (db) => {
      const counted = db.selectFrom('members').select((members) => members.fn.countAll<number>().as('count'));
      return (await counted.executeTakeFirstOrThrow()).count;
    });
  }

  verifyAudit(known?: string): Promise<AuditVerdict> {
    return this.#view((db) => verifyAuditChain(db, known));
  }

  change<Result>(context: ChangeContext, work: (transaction: StoreTransaction) => Promise<Result>): Promise<Result> {
    // Fair turns: a domain with many changes gets one transaction before those of others, not all that it has asked for.
    return this.#guard(() => this.#turns.run(laneOf(context.actor), () => this.#transact(context, work)));
  }

  async #transact<Result>(
    context: ChangeContext,
    work: (transaction: StoreTransaction) => Promise<Result>,
  ): Promise<Result> {
    const { result, revoked } = await this.#database.transactAlone(async (transaction) => {
      const meta = await transaction.selectFrom('meta').selectAll().where('id', '=', 1).executeTakeFirstOrThrow();
      const state = await readState(transaction);
      const changes = new KyselyStoreTransaction(transaction, context, this.#clock.now(), { ...meta, ...state });
      const result = await work(changes);
      if (await changes.finish()) await this.#database.noteChange?.(transaction);
      return { result, revoked: changes.revoked };
    });
    for (const [reason, count] of revoked) for (const listener of this.#onRevoked) listener(reason, count);
    return result;
  }

  condition(): StoreCondition {
    return this.#database.condition();
  }

  tryWriting(): Promise<StoreCondition> {
    return this.#database.tryWriting();
  }

  newestRecord(): Promise<NewestRecord | undefined> {
    return this.#guard(() => this.#database.newestRecord());
  }

  lastWritten(): Moment | undefined {
    return this.#database.lastWritten();
  }

  aheadOfDatabase(): number | undefined {
    return this.#database.aheadOfDatabase?.();
  }

  onRevoked(listener: (reason: RevocationReason, count: number) => void): void {
    this.#onRevoked.push(listener);
  }

  connections(): PoolUse | undefined {
    return this.#database.connections?.();
  }

  watch(listener: () => void): void {
    this.#database.watch?.(listener);
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  #read<Result>(query: (db: Kysely<Schema>) => Promise<Result>): Promise<Result> {
    return this.#guard(async () => query(await this.#database.reader()));
  }

  #view<Result>(query: (db: Kysely<Schema>) => Promise<Result>): Promise<Result> {
    return this.#guard(() => this.#database.view(query));
  }

  async #guard<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      throw error instanceof DomainError ? error : this.#database.translate(error);
    }
  }
}
