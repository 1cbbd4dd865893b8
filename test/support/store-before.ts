import { rmSync } from 'node:fs';
import Database from 'better-sqlite3';

/* How each step of the schema is taken back, the newest first. */

const undo = [
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

/** Leaves a store file as the version before the step would have, then runs `more` on it. */
export function takeBack(file: string, step: (typeof undo)[number][0], more = ''): void {
  const database = new Database(file);
  for (const [name, statements] of undo) {
    database.exec(`${statements} delete from kysely_migration where name = '${name}';`);
    if (name === step) break;
  }
  database.exec(more);
  database.close();
  // Versions before that step made none.
  rmSync(`${file}.witness`, { force: true });
}
