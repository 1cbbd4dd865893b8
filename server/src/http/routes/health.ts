import type { RouterMiddleware } from '@koa/router';
import type { Clock } from '@signet/policy-engine/clock';
import type { SigningKeys } from '../../keys/signing-keys.ts';
import { answerJson, type RequestState } from '../context.ts';

export interface ReadinessDeps {
  readonly clock: Clock;
  readonly keys: SigningKeys;
  /** Of the snapshot in force; `error` while the store cannot be read. */
  readonly snapshotStatus: () => { readonly counter: number; readonly refreshedAt: number; readonly error?: string };
  readonly isDraining: () => boolean;
}

/** `GET /healthz`: the process is alive. */
export const healthRoute: RouterMiddleware<RequestState> = (ctx) => answerJson(ctx, '{"status":"alive"}');

/**
 * `GET /readyz`: whether this server can do its work: 200, or 503 without a key to sign with and while it stops. With the store
 * unreadable it goes on answering from the snapshot: still 200, with the age of the snapshot and `store: "unreadable"`.
 */
export function readinessRoute(deps: ReadinessDeps): RouterMiddleware<RequestState> {
  return (ctx) => {
    const { counter, refreshedAt, error } = deps.snapshotStatus();
    const { token, bundle, missing } = deps.keys.current();
    const ready = token !== undefined && bundle !== undefined && !deps.isDraining();
    ctx.status = ready ? 200 : 503;
    answerJson(
      ctx,
      JSON.stringify({
        status: deps.isDraining() ? 'stopping' : ready ? 'ready' : 'no-signing-key',
        snapshot: { counter, ageMs: Math.max(0, deps.clock.now() - refreshedAt) },
        // The text of the failure is for the log: anyone may read this page.
        store: error === undefined ? 'readable' : 'unreadable',
        keys: { token: token?.kid ?? null, bundle: bundle?.kid ?? null, missing },
      }),
    );
  };
}
