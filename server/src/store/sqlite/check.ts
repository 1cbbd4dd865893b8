import { z } from 'zod';
import { registeredKey } from '../../base/registered-key.ts';
import { signingKeyFault } from '../../model/jwk-thumbprint.ts';
import { unpackDomain } from '../../model/packed-members.ts';
import type { DomainRecord } from '../../model/records.ts';
import type { StoreContents } from '../../model/store.ts';
import { SnapshotBuilder } from '../../snapshot/compile-snapshot.ts';
import { isBelowUser } from '../../snapshot/snapshot.ts';
import { runAtOnce } from '../../steps/steps.ts';
import { withoutDnsNames } from '../../x509/naming.ts';
import { readSeal, type SealState } from './backup-seal.ts';
import { openForReading } from './connect.ts';
import { checkStoreFile } from './file-checks.ts';
import { findLoss, type Loss } from './in-step.ts';
import { checkSchema, type KnownSchemas, knownSchemas } from './known-schema.ts';
import { openSqliteStore, refusalOf } from './open-sqlite.ts';
import { readWitness } from './witness.ts';

/** Result of checking every page and row of a store. */
export interface StoreCheck {
  readonly epoch: number;
  readonly counter: number;
  readonly domains: number;
  readonly auditRecords: number;
  /** Digest of the schema and every row. */
  readonly digest: string;
  /** Seal: whether it is a backup that the holder of the key made; `other-key` also where no key is given. */
  readonly seal: SealState;
  readonly faults: readonly string[];
  /** Notes for the operator, which are no faults. */
  readonly notes: readonly string[];
}

const messages = z.array(z.object({ integrity_check: z.string() }));

/**
 * Checks schema, pages, references, counts of members, the audit chain, the seal of a backup, and that every domain can be used. Throws
 * `StoreRefusedError` for what is not a store.
 */
export async function checkStore(file: string, sealKey?: Buffer): Promise<StoreCheck> {
  checkStoreFile(file);
  const { faults: inFile, digest, seal, loss } = checkPages(file, knownSchemas(), sealKey);
  const store = await openSqliteStore(file, { readonly: true, witness: 'ignored' });
  try {
    const { faults, notes, ...counts } = await store.everything(checkDomains);
    const audit = await store.verifyAudit();
    return {
      ...counts,
      auditRecords: audit.records,
      digest,
      seal,
      faults: [
        ...inFile,
        ...(loss?.reason === 'behind' ? [loss.message] : []),
        ...checkRows(file),
        ...(audit.fault === undefined ? [] : [`audit log: ${audit.fault}`]),
        ...faults,
      ],
      // A store that was put aside has none either.
      notes: [...(loss?.reason === 'witness' ? [loss.message] : []), ...notes],
    };
  } finally {
    await store.close();
  }
}

/** Checks that every domain can be used, and collects notes for the operator. */
async function checkDomains({ state, domains, signingKeys }: StoreContents) {
  const builder = new SnapshotBuilder(state);
  const [keys, notes]: [string[], string[]] = [[], []];
  let count = 0;
  for await (const part of domains) {
    for (const domain of part.map(unpackDomain)) {
      runAtOnce(builder.addInSteps(domain));
      keys.push(...unreadableKeys(domain));
      if (domain.dnsForm === undefined) notes.push(withoutDnsNames(domain.name));
      if (isBelowUser(domain.name))
        notes.push(`domain \`${domain.name}\` has a name that is reserved for users: delete it`);
    }
    count += part.length;
  }
  const { problems } = builder.build(signingKeys);
  const foreign = signingKeys.flatMap((key) => signingKeyFault(key) ?? []);
  const faults = [...problems.map(({ domain }) => `domain \`${domain}\` cannot be used`), ...keys, ...foreign];
  const { epoch, counter } = state;
  return { epoch, counter, domains: count, faults, notes };
}

function unreadableKeys({ name, services }: DomainRecord): string[] {
  return services.flatMap((service) =>
    service.publicKeys
      .filter(({ pem }) => registeredKey(pem) === undefined)
      .map(({ id }) => `public key \`${id}\` of service \`${name}.${service.name}\` cannot be read`),
  );
}

const miscounted = z.array(z.object({ name: z.string() }));
const miscountedLists = `
  select domain || ':role.' || name as name from roles where member_count <>
    (select count(*) from members where members.domain = roles.domain and kind = 'role' and list = roles.name)
  union all
  select domain || ':group.' || name from groups where member_count <>
    (select count(*) from members where members.domain = groups.domain and kind = 'group' and list = groups.name)
  union all
  select distinct domain || ':' || kind || '.' || list from members where
    not exists (select 1 from roles where kind = 'role' and roles.domain = members.domain and name = list) and
    not exists (select 1 from groups where kind = 'group' and groups.domain = members.domain and name = list)
  order by 1`;

const counts = z.object({ count: z.int() });
/*
 * The head of the feed says what every server follows; without it they read everything at every change. It names the audit record of the newest
 * change: what is only recorded (a certificate that an operator had made) comes after it in the audit log, and is no change.
 */
const headlessFeed = `select count(*) as count from meta where counter > 0 and not exists (
  select 1 from changes where seq = meta.counter and domain = '' and kind = 'head'
    and (key = audit_head or exists (select 1 from audit where hash = changes.key)))`;
/* Readers of revocations ask for those after a place in their order. */
const unorderedRevocations =
  'select count(*) as count from certificates where (revoked_at is null) <> (revocation_sequence is null)';

/** Faults in rows that no statement of this program writes, and the schema does not keep out. */
function checkRows(file: string): string[] {
  const database = openForReading(file);
  try {
    database.pragma('busy_timeout = 5000');
    // Quotas rely on the number of members that stands beside each list.
    const lists = miscounted.parse(database.prepare(miscountedLists).all());
    const [heads, revocations] = [headlessFeed, unorderedRevocations].map(
      (query) => counts.parse(database.prepare(query).get()).count,
    );
    return [
      ...lists.map(({ name }) => `\`${name}\` has a number of members that differs from the stored count`),
      ...(heads === 0 ? [] : ['the change feed does not end at the newest change']),
      ...(revocations === 0 ? [] : [`${revocations} revoked certificates have no revocation sequence number`]),
    ];
  } finally {
    database.close();
  }
}

interface FileCheck {
  readonly faults: readonly string[];
  readonly loss: Loss | undefined;
  readonly digest: string;
  readonly seal: SealState;
}

function checkPages(file: string, schemas: KnownSchemas, sealKey: Buffer | undefined): FileCheck {
  try {
    return checkFile(file, schemas, sealKey);
  } catch (error) {
    throw refusalOf(file, error);
  }
}

function checkFile(file: string, schemas: KnownSchemas, sealKey: Buffer | undefined): FileCheck {
  const witness = readWitness(file);
  const database = openForReading(file);
  try {
    database.pragma('busy_timeout = 5000');
    checkSchema(database, file, schemas);
    const pages = messages.parse(database.pragma('integrity_check')).map((row) => row.integrity_check);
    const references = z.array(z.unknown()).parse(database.pragma('foreign_key_check'));
    const { state: seal, digest } = readSeal(database, sealKey);
    return {
      faults: [
        ...pages.filter((message) => message !== 'ok'),
        ...(references.length === 0 ? [] : [`${references.length} rows refer to missing rows`]),
        ...(seal === 'broken' ? ['it was changed after the backup was created'] : []),
      ],
      digest,
      seal,
      loss: findLoss(database, file, witness),
    };
  } finally {
    database.close();
  }
}
