import type { Viewer } from '../../impact/fold.ts';
import type { StoredRequest } from '../../model/change-requests.ts';
import type { StoreReader } from '../../model/store.ts';
import { type Effect, effectDigest } from '../effect-digest.ts';
import { effectOf, readSides, type Sides } from '../find-effect.ts';
import type { Plan } from '../plan-documents.ts';
import { everyRight } from '../rights.ts';
import { approvalsOf } from './needed.ts';
import { type Asking, type Prepared, prepare } from './prepare.ts';

/** Judged content of a request, and both sides of it. */
export interface Examined {
  readonly prepared: Prepared;
  readonly sides: Sides;
}

/** Judges what is asked for, and reads what decides about its effect. Throws what refuses it. */
export async function examine(
  reader: StoreReader,
  content: StoredRequest['content'],
  asking: Asking,
): Promise<Examined> {
  const prepared = await prepare(reader, content, asking);
  return { prepared, sides: await readSides(reader, prepared.moved, prepared.known, asking.now) };
}

/** Effect of what is asked for as far as the viewer may know, with its digest. Warnings are for the author of documents alone. */
export async function planFor({ prepared, sides }: Examined, viewer: Viewer, now: number): Promise<Plan> {
  const { asked, changes, needs, casesPassed } = prepared;
  const effect: Effect = { ...(await effectOf(sides, viewer, { now, changes })), refusals: [] };
  const { state } = sides;
  return {
    digest: effectDigest(asked, effect, state),
    change: [state.epoch, state.counter],
    ...effect,
    ...(needs.size > 0 && { needs: approvalsOf(needs) }),
    casesPassed,
    warnings: [],
  };
}

/** Digest of the effect with nothing hidden: what approvals hold for. */
export async function wholeDigest(examined: Examined, now: number): Promise<string> {
  return (await planFor(examined, everyRight, now)).digest;
}
