import { createRequire } from 'node:module';
import type Router from '@koa/router';

/**
 * `@koa/router` in its form for `require`. The one for `import` imports `node:http` as a namespace, for which Node loads WebSocket, fetch and all
 * that they need into every server.
 */
export const KoaRouter: typeof Router = createRequire(import.meta.url)('@koa/router');
