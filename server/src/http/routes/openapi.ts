import type { RouterMiddleware } from '@koa/router';
import type { Addresses } from '../../config/config.ts';
import { callerHas, entityMarkOf } from '../cached-answer.ts';
import type { RequestState } from '../context.ts';

/** Paths of the document: at the root, and below the base URL. */
export function openApiPaths({ basePath }: Pick<Addresses, 'basePath'>): readonly string[] {
  return [...new Set(['/openapi.json', `${basePath}/openapi.json`])];
}

/** `GET /openapi.json`: the OpenAPI document of this server, which is made when it is first asked for, and kept. */
export function openApiRoute(
  describe: () => Promise<Readonly<Record<string, unknown>>>,
  maxAgeSeconds: number,
): RouterMiddleware<RequestState> {
  let made: { readonly body: Buffer; readonly mark: string } | undefined;
  return async (ctx) => {
    made ??= keep(JSON.stringify(await describe()));
    if (callerHas(ctx, made.mark, maxAgeSeconds)) return;
    ctx.state.isSharedAnswer = true;
    ctx.res.setHeader('Content-Type', 'application/json');
    ctx.body = made.body;
  };
}

function keep(json: string) {
  return { body: Buffer.from(json), mark: entityMarkOf(json) };
}
