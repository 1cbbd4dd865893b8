import type { Clock } from '@signet/policy-engine/clock';
import type { KeyPurpose } from '@signet/policy-engine/wire';
import type { SigningKeyRecord } from '../model/records.ts';
import { type RotationSchedule, rotationDueAt } from './key-life.ts';
import { keyPurposes, type Successor } from './rotate-keys.ts';

/** Replaces keys that have signed for as long as they should. No server leads: each looks, and the transaction lets one of them do it. */
interface ScheduledRotation {
  /** Checks the schedule; called at each poll of the store. Never throws; a due rotation is done in the background. */
  look(): void;
  /** Waits for a rotation that is on its way; afterwards none begins. */
  close(): Promise<void>;
}

interface ScheduledRotationDeps {
  readonly schedule: RotationSchedule;
  /** The records of the snapshot in force. */
  readonly records: () => readonly SigningKeyRecord[];
  /** Answers undefined where another server was faster. */
  readonly rotate: (purpose: KeyPurpose) => Promise<Successor | undefined>;
  readonly clock: Clock;
  /** A number from 0 on and below 1. */
  readonly random: () => number;
  readonly onRotated: (successor: Successor) => void;
  readonly onError: (error: unknown, purpose: KeyPurpose) => void;
}

/** Servers wait for up to this long, in milliseconds, each for another time: mostly one has rotated before the others try. */
const jitterMs = 60_000;

/** Pause between two attempts of a process in milliseconds, plus the jitter. */
const retryMs = 600_000;

export function scheduleRotation(deps: ScheduledRotationDeps): ScheduledRotation {
  const { clock, records, schedule } = deps;
  let running: Promise<void> | undefined;
  let isClosed = false;
  /** Pause between attempts, kept with its start, so that a clock which is set back does not make it longer. */
  let pause: { readonly from: number; readonly forMs: number } | undefined;

  async function attempt(purposes: readonly KeyPurpose[]): Promise<void> {
    for (const purpose of purposes) {
      try {
        const successor = await deps.rotate(purpose);
        if (successor !== undefined) deps.onRotated(successor);
      } catch (error) {
        deps.onError(error, purpose);
      }
    }
  }

  function look(): void {
    if (isClosed || running !== undefined) return;
    const now = clock.now();
    const due = keyPurposes.filter((purpose) => rotationDueAt(records(), purpose, schedule) <= now);
    const isOver = pause === undefined || Math.abs(now - pause.from) >= pause.forMs;
    if (due.length === 0) {
      // The next time has a jitter of its own.
      if (isOver) pause = undefined;
      return;
    }
    pause ??= { from: now, forMs: deps.random() * jitterMs };
    if (Math.abs(now - pause.from) < pause.forMs) return;
    pause = { from: now, forMs: retryMs + deps.random() * jitterMs };
    running = attempt(due).finally(() => {
      running = undefined;
    });
  }

  return {
    look,
    async close() {
      isClosed = true;
      await running;
    },
  };
}
