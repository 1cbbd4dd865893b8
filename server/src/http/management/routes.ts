import type Router from '@koa/router';
import type { RouterMiddleware } from '@koa/router';
import type { Middleware, RequestState } from '../context.ts';
import type { ManagementRouteDeps } from './management-deps.ts';
import { authorization, type PathRight } from './path-rights.ts';

type Method = 'get' | 'post' | 'put' | 'delete';
type Handler = RouterMiddleware<RequestState>;

/** An operation as it was mounted. */
export interface StatedRoute {
  readonly method: Method;
  readonly path: string;
  readonly needs: PathRight;
}

/**
 * The only way to mount an operation of the management API: each says what its path tells of the right it needs, and is refused by that
 * before its body, if it has one, is read.
 */
export class ManagementRoutes {
  readonly stated: StatedRoute[] = [];
  readonly #router: Router<RequestState>;
  readonly #deps: ManagementRouteDeps;
  readonly #body: Middleware;

  /** `body` reads the bodies of `POST` and `PUT`. */
  constructor(router: Router<RequestState>, deps: ManagementRouteDeps, body: Middleware) {
    this.#router = router;
    this.#deps = deps;
    this.#body = body;
  }

  get(path: string, needs: PathRight, handler: Handler): void {
    this.mount('get', path, needs, handler);
  }

  post(path: string, needs: PathRight, handler: Handler): void {
    this.mount('post', path, needs, handler);
  }

  put(path: string, needs: PathRight, handler: Handler): void {
    this.mount('put', path, needs, handler);
  }

  delete(path: string, needs: PathRight, handler: Handler): void {
    this.mount('delete', path, needs, handler);
  }

  mount(method: Method, path: string, needs: PathRight, handler: Handler): void {
    this.stated.push({ method, path, needs });
    const takesBody = method === 'post' || method === 'put';
    const before = [authorization(this.#deps, needs), ...(takesBody ? [this.#body] : [])];
    this.#router[method](path, ...before, handler);
  }
}
