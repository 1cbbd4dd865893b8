import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { AuditAction, ChangeContext } from '../../model/records.ts';
import { auditHash } from '../audit-chain.ts';
import { crlNumbersAhead } from '../new-epoch.ts';

/* Restart of a store from an earlier state, without something of what happened since: it must not be taken for the later one. */

interface Restart {
  readonly action: Extract<AuditAction, 'restore' | 'accept-loss'>;
  /** Used epochs, ids and numbers of changes, as far as known. */
  readonly used: { readonly epoch: number; readonly nextId: number; readonly sequence: number };
  /** True if it is unknown which of the join tokens were spent. */
  readonly spendJoinTokens: boolean;
  /** Details of the audit record beside the epoch. */
  readonly detail: Readonly<Record<string, unknown>>;
}

export interface RestartContext {
  readonly clock: Clock;
  readonly context: ChangeContext;
}

const metaRow = z.object({
  epoch: z.int(),
  counter: z.int(),
  next_id: z.int(),
  audit_head: z.string(),
  sequence: z.int(),
});

/** Begins an epoch that was never used, with its audit record: hosts take the bundles of the store although their versions may have gone back. */
export function restartStore(
  database: Database.Database,
  restart: Restart,
  { clock, context }: RestartContext,
): number {
  return database.transaction(() => {
    if (restart.spendJoinTokens) {
      database.prepare('update main.join_tokens set spent_at = ? where spent_at is null').run(epochSeconds(clock));
    }
    // A list of before may lack what was revoked since.
    database.prepare('update main.revocation_lists set number = number + ?, list = null').run(crlNumbersAhead);
    // An open request may have been rejected or withdrawn since: it expires.
    database
      .prepare("update main.change_requests set expires_at = min(expires_at, ?) where state = 'open'")
      .run(clock.now());
    const meta = metaRow.parse(database.prepare('select * from main.meta where id = 1').get());
    const epoch = Math.max(meta.epoch, restart.used.epoch) + 1;
    const record = {
      id: Math.max(meta.next_id, restart.used.nextId),
      at: clock.now(),
      actor: context.actor,
      certificate_serial: null,
      request_id: null,
      reason: context.reason ?? null,
      action: restart.action,
      subject: 'store',
      version: null,
      counter: meta.counter + 1,
      before: JSON.stringify({ epoch: meta.epoch }),
      after: JSON.stringify({ epoch, ...restart.detail }),
    };
    const hash = auditHash(meta.audit_head, record);
    database.prepare(insertAudit).run({ ...record, hash });
    const sequence = Math.max(meta.sequence, restart.used.sequence) + 1;
    database
      .prepare('update main.meta set epoch = ?, counter = ?, next_id = ?, audit_head = ?, sequence = ?')
      .run(epoch, record.counter, record.id + 1, hash, sequence);
    // Readers do not follow into another epoch.
    database.exec('delete from main.changes');
    database.prepare("insert into main.changes values (?, '', 'head', ?)").run(record.counter, hash);
    return epoch;
  })();
}

const insertAudit = `insert into main.audit
  (id, at, actor, certificate_serial, request_id, reason, action, subject, version, counter, before, after, hash)
  values (@id, @at, @actor, @certificate_serial, @request_id, @reason, @action, @subject, @version, @counter, @before, @after, @hash)`;
