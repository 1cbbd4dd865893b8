import { type ExpressionBuilder, sql } from 'kysely';
import { type InstanceColumns, type InstanceFilter, whereInstance } from './certificate-rows.ts';
import { headOfChanges } from './change-rows.ts';
import type { Schema } from './database-schema.ts';
import { type Places, rowsStatement, statement } from './statement.ts';

/* Statements for each issued certificate, with few variants: compiled once for each store. */

export interface NewCertificate {
  readonly serial: string;
  readonly issuer: string;
  readonly kind: string;
  readonly subject: string;
  readonly holder: string;
  readonly provider: string | null;
  readonly instance_id: string | null;
  readonly vouched_key: string | null;
  readonly asking_serial: string | null;
  readonly asked_by: string | null;
  /** Serial number and digest of what says who asked; no columns. */
  readonly asked_with: string | null;
  readonly join_token: string | null;
  readonly intended_at: number;
  readonly not_before: number;
  readonly not_after: number;
}

interface NewInstance extends InstanceColumns {
  readonly hostname: string | null;
  readonly serial: string;
  readonly at: number;
  readonly not_after: number;
  readonly client_only: number;
  readonly ssh_allowed: number;
}

interface NextSerial extends InstanceColumns {
  readonly serial: string;
  readonly presented: string;
  readonly at: number;
  readonly not_after: number;
  readonly ssh_allowed: number;
}

interface AllowedSsh extends InstanceColumns {
  readonly presented: string;
  readonly ssh_allowed: number;
}

interface Held {
  readonly serial: string;
  readonly provider: string;
  readonly instance_id: string;
}

/** Certificates that are about to be signed: those of one statement. One whose serial number there is already is left out. */
export function intendStatement(count: number) {
  return rowsStatement(count, (db, rows: readonly Places<NewCertificate>[]) =>
    db
      .insertInto('certificates')
      .values(
        rows.map((row) => ({
          serial: row.at('serial'),
          issuer: row.at('issuer'),
          kind: row.at('kind'),
          state: sql.lit('intended'),
          subject: row.at('subject'),
          holder: row.at('holder'),
          provider: row.at('provider'),
          instance_id: row.at('instance_id'),
          vouched_key: row.at('vouched_key'),
          asking_serial: row.at('asking_serial'),
          asked_by: sql<string | null>`coalesce(${row.at('asked_by')},
            (select asked_by from certificates as asking where asking.serial = ${row.at('asked_with')}),
            (select created_by from join_tokens where digest = ${row.at('join_token')}))`,
          intended_at: row.at('intended_at'),
          not_before: row.at('not_before'),
          not_after: row.at('not_after'),
        })),
      )
      .onConflict((conflict) => conflict.doNothing()),
  );
}

export function certificateStatements() {
  return {
    find: statement((db, row: Places<{ readonly serial: string }>) =>
      db.selectFrom('certificates').selectAll().where('serial', '=', row.at('serial')),
    ),
    /*
     * Deletes an instance without any certificate left. A revoked one stays for as long as anything of it could be valid. Its own end is a
     * condition, too: another server may be registering it again, with a certificate that this statement does not see yet.
     */
    forget: statement((db, key: Places<InstanceColumns & { readonly endedBefore: number }>) =>
      atKey(db.deleteFrom('instances'), key)
        .where('not_after', '<', key.at('endedBefore'))
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('certificates')
                .select('serial')
                .where('certificates.provider', '=', key.at('provider'))
                .where('certificates.instance_id', '=', key.at('instance_id')),
            ),
          ),
        ),
    ),
  };
}

/** Statements of the transaction that records a certificate as issued. */
export function recordingStatements() {
  return {
    confirm: statement((db, row: Places<{ readonly serial: string; readonly fingerprint: string }>) =>
      db
        .updateTable('certificates')
        .set({ state: sql.lit('issued'), fingerprint: row.at('fingerprint') })
        .where('serial', '=', row.at('serial'))
        .where('revoked_at', 'is', null),
    ),
    revocation: statement((db, row: Places<{ readonly serial: string }>) =>
      db
        .selectFrom('certificates')
        .select('revoked_at')
        .where('serial', '=', row.at('serial'))
        .where('revoked_at', 'is not', null),
    ),
    state: statement((db, row: Places<{ readonly id: number }>) =>
      db
        .selectFrom('meta')
        .select(['epoch', 'counter', headOfChanges.as('head')])
        .where('id', '=', row.at('id')),
    ),
  };
}

const lineageColumns = [
  'current_serial',
  'previous_serial',
  'previous_used',
  'revoked',
  'client_only',
  'ssh_allowed',
] as const;

export function instanceStatements() {
  return {
    find: statement((db, key: Places<InstanceColumns>) => atKey(db.selectFrom('instances').selectAll(), key)),
    lineage: statement((db, key: Places<InstanceColumns>) =>
      atKey(db.selectFrom('instances').select(lineageColumns), key),
    ),
    isHeld: statement((db, row: Places<Held>) =>
      db
        .selectFrom('certificates')
        .select('serial')
        .where('serial', '=', row.at('serial'))
        .where('kind', '=', sql.lit('instance'))
        .where('provider', '=', row.at('provider'))
        .where('instance_id', '=', row.at('instance_id')),
    ),
    register: statement((db, row: Places<NewInstance>) => {
      const values = {
        hostname: row.at('hostname'),
        current_serial: row.at('serial'),
        previous_serial: null,
        previous_used: 0,
        registered_at: row.at('at'),
        refreshed_at: row.at('at'),
        not_after: row.at('not_after'),
        revoked: 0,
        client_only: row.at('client_only'),
        ssh_allowed: row.at('ssh_allowed'),
      };
      return db
        .insertInto('instances')
        .values({
          provider: row.at('provider'),
          domain: row.at('domain'),
          service: row.at('service'),
          instance_id: row.at('instance_id'),
          ...values,
        })
        .onConflict((conflict) =>
          conflict.columns(['provider', 'domain', 'service', 'instance_id']).doUpdateSet(values),
        );
    }),
    rotate: statement((db, row: Places<NextSerial>) =>
      atKey(
        db.updateTable('instances').set({
          current_serial: row.at('serial'),
          previous_serial: row.at('presented'),
          // The current one becomes the previous one, unused; the previous one stays, and has been used.
          previous_used: sql<number>`case when current_serial = ${row.at('presented')} then 0 else 1 end`,
          refreshed_at: row.at('at'),
          not_after: row.at('not_after'),
          ssh_allowed: row.at('ssh_allowed'),
        }),
        row,
      )
        .where('revoked', '=', sql.lit(0))
        .where(({ eb }) => ofLineage(eb, row)),
    ),
    allowSsh: statement((db, row: Places<AllowedSsh>) =>
      atKey(db.updateTable('instances').set({ ssh_allowed: row.at('ssh_allowed') }), row)
        .where('revoked', '=', sql.lit(0))
        .where(({ eb }) => ofLineage(eb, row)),
    ),
  };
}

/** Condition: the presented serial number is the current one, or the previous one for the first time. */
function ofLineage(where: ExpressionBuilder<Schema, 'instances'>, row: Places<Pick<NextSerial, 'presented'>>) {
  return where.or([
    where('current_serial', '=', row.at('presented')),
    where.and([where('previous_serial', '=', row.at('presented')), where('previous_used', '=', sql.lit(0))]),
  ]);
}

function atKey<Query extends InstanceFilter<Query>>(query: Query, key: Places<InstanceColumns>): Query {
  const [provider, domain] = [key.at('provider'), key.at('domain')];
  return whereInstance(query, { provider, domain, service: key.at('service'), instance_id: key.at('instance_id') });
}
