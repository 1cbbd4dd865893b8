import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import type Database from 'better-sqlite3';
import { z } from 'zod';
import type { AuditAction, ChangeContext } from '../../model/records.ts';
import { auditHash } from '../audit-chain.ts';
import { crlNumbersAhead } from '../new-epoch.ts';

/* A store goes on from an earlier state, and something of what happened since is not in it: nobody may take it for what it was before. */

interface Restart {
  readonly action: Extract<AuditAction, 'restore' | 'accept-loss'>;
  /** Epochs, ids and numbers of changes that were used, as far as somebody knows. */
  readonly used: { readonly epoch: number; readonly nextId: number; readonly sequence: number };
  /** Whether nobody knows which of the join tokens were spent. */
  readonly spendJoinTokens: boolean;
  /** What the audit record says beside the epoch. */
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
    // Nobody follows into another epoch.
    database.exec('delete from main.changes');
    database.prepare("insert into main.changes values (?, '', 'head', ?)").run(record.counter, hash);
    return epoch;
  })();
}

const insertAudit = `insert into main.audit
  (id, at, actor, certificate_serial, request_id, reason, action, subject, version, counter, before, after, hash)
  values (@id, @at, @actor, @certificate_serial, @request_id, @reason, @action, @subject, @version, @counter, @before, @after, @hash)`;
