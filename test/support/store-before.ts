import { rmSync } from 'node:fs';
import { knownSchemas } from '@signet/server/store/sqlite/known-schema';
import Database from 'better-sqlite3';

/* Statements that undo each step of the schema, the newest first. */

const undo = [
  [
    '020-approvals',
    `drop table change_requests;
    drop index roles_protected;
    alter table domains drop column approvals;
    alter table roles drop column approvals;
    alter table roles drop column request_seconds;
    alter table certificates drop column asked_by;`,
  ],
  ['019-bundle-readers', 'alter table domains drop column bundle_readers;'],
  [
    '018-reviews-in-order',
    `drop index members_by_review_in_order;
    create index members_by_review on members (review) where review is not null;`,
  ],
  [
    '017-sealed-keys',
    `alter table signing_keys drop column sealed;
    alter table signing_keys drop column sealing_key;`,
  ],
  [
    '016-revocation-lists',
    `drop index certificates_revoked_by_end;
    create table "crl_numbers" ("issuer" text not null primary key, "number" bigint not null);
    insert into crl_numbers select issuer, number from revocation_lists;
    drop table revocation_lists;`,
  ],
  [
    '014-members',
    `insert into role_members select domain, list, member, expires, disabled, review from members where kind = 'role';
    insert into group_members select domain, list, member, expires, disabled, review from members where kind = 'group';
    drop table members;`,
  ],
  [
    '013-policy-version',
    `alter table domains rename column policy_version to version;
    alter table domains rename column policy_modified to modified;`,
  ],
  ['012-changes', 'drop table changes;'],
  [
    '011-sequence',
    `alter table meta drop column sequence;
    alter table meta drop column written_at;
    alter table meta drop column written_by;`,
  ],
  [
    '010-delegated-keys',
    `drop index service_keys_delegated;
    alter table service_keys drop column delegated;`,
  ],
  [
    '009-names',
    `drop index domains_by_dns_form;
    drop index certificates_by_holder;
    drop index certificates_by_subject;
    drop index join_tokens_of_service;
    drop table ended_names;
    alter table domains drop column dns_form;
    alter table domains drop column credentials_from;
    alter table services drop column credentials_from;`,
  ],
  [
    '008-lineage',
    `drop index certificates_by_key;
    drop index certificates_by_asking;
    drop index join_tokens_of_instance;
    drop table attestation_tokens;
    alter table instances drop column previous_used;
    alter table instances drop column ssh_allowed;
    alter table certificates drop column vouched_key;
    alter table certificates drop column asking_serial;
    alter table join_tokens drop column ended_at;`,
  ],
] as const;

type Step = (typeof undo)[number][0];

/** Leaves a store file as the version before the step would have, then runs `more` on it. */
export async function takeBack(file: string, step: Step, more = ''): Promise<void> {
  const schemas = knownSchemas();
  const database = new Database(file);
  database.pragma('foreign_keys = OFF');
  for (const [name, statements] of undo) {
    if (name === '014-members') make(database, schemas[13], 'role_members', 'group_members');
    database.exec(`${statements} delete from kysely_migration where name = '${name}';`);
    if (name === '012-changes') remakeDomains(database, schemas[11]);
    if (name === step) break;
  }
  database.exec(more);
  database.close();
  // Versions before the step `011-sequence` made none.
  if (step < '012') rmSync(`${file}.witness`, { force: true });
}

/** A column that is added again stands in another place than it did: the table is made as it was made then. */
function remakeDomains(database: Database.Database, definitions: Definitions): void {
  const columns = database.prepare("select name from pragma_table_info('domains')").pluck().all().join(', ');
  database.exec('create temp table kept as select * from domains; drop table domains');
  make(database, definitions, 'domains');
  database.exec(
    `insert into domains (${columns}, changed_at) select ${columns}, (select counter from meta) from kept;`,
  );
}

type Definitions = ReadonlyMap<string, string> | undefined;

/** Makes tables with their indices as they were made then. */
function make(database: Database.Database, definitions: Definitions, ...tables: readonly string[]): void {
  const statements = [...(definitions ?? [])]
    .filter(([, definition]) => tables.some((table) => definition.toLowerCase().startsWith(`${table}: create`)))
    .sort(([a], [b]) => (a.startsWith('table') ? -1 : b.startsWith('table') ? 1 : 0))
    .map(([, definition]) => definition.slice(definition.indexOf(': ') + 2));
  database.exec(statements.join('; '));
}
