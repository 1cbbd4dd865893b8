import { pipeline, Readable } from 'node:stream';
import Koa from 'koa';
import type { AppContext, RequestState } from './context.ts';

type Run = (ctx: AppContext) => Promise<void>;

/** Koa's internal methods that run the middlewares and write the answer; its types omit them. */
const koa = Koa.prototype as unknown as {
  handleRequest(this: Koa<RequestState>, ctx: AppContext, run: Run): Promise<void>;
};

/**
 * Koa, which learns of a request when there is something for it to write. Before it runs the middlewares it has four listeners and an async
 * resource wait for the end of the answer: a twentieth of a token, for a line about a connection that failed meanwhile.
 */
export class KoaApp extends Koa<RequestState> {
  handleRequest(ctx: AppContext, run: Run): Promise<void> {
    ctx.res.statusCode = 404;
    return run(ctx).then(
      () => (ctx.respond === false ? undefined : this.#write(ctx)),
      (error: Error) => ctx.onerror(error),
    );
  }

  /** Writes with the status that the middlewares have set: Koa begins with its own. */
  #write(ctx: AppContext): Promise<void> {
    const { statusCode } = ctx.res;
    const { body } = ctx.response;
    if (body instanceof Readable && ctx.writable && ctx.method !== 'HEAD') {
      // Koa compares streams with `Response` of the global scope first, for which Node compiles its `fetch`: 60 ms in the first such answer.
      pipeline(body, ctx.res, (error) => error && ctx.onerror(error));
      return Promise.resolve();
    }
    return koa.handleRequest.call(this, ctx, async () => {
      ctx.res.statusCode = statusCode;
    });
  }
}
