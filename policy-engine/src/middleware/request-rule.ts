import { PolicyEngineError } from '../errors.ts';
import { foldAscii } from '../names/index.ts';
import type { Status } from '../policy/index.ts';
import { isUnqualified, ServedDomains } from '../served-domains.ts';
import { canonicalPath } from './canonical-path.ts';

/** Request as a rule sees it. */
export interface RuleInput {
  /** Method as sent, e.g. `GET`. */
  readonly method: string;
  /** The canonical path: decoded once, no trailing `/`. */
  readonly path: string;
  /** The pattern of the route that matched, as the framework knows it (`/movie/:id`); absent in front of all routes. */
  readonly route?: string;
}

/** Action and resource that a request requires. */
export interface RequiredAccess {
  readonly action: string;
  /** `domain:entity`; `entity` alone where exactly one domain is served. */
  readonly resource: string;
}

/** Maps a request to the access that it requires. `undefined`: no rule covers it, so it is refused as an unknown endpoint (404). */
export type Rule = (request: RuleInput) => RequiredAccess | undefined;

/** Rules for requests, and the domains that are served. */
export interface RuleOptions {
  /**
   * Required access of every request, for the middleware of one route; or a function of the request. It may be called more than once for a
   * request: a path that a router could read in another way is refused (400) when the answers differ.
   */
  rule: RequiredAccess | Rule;
  /**
   * The domains that this service serves. Resources of others are refused; with exactly one, a resource without a domain is one of
   * it. Required unless the engine was told them, or `rule` is one resource with its domain.
   */
  domains?: readonly string[];
  /** The routes of this service distinguish capital and small letters, so that `rule` may as well. Default false. */
  caseSensitive?: boolean;
}

/** Input of a rule evaluation. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query as received, not decoded. */
  readonly target: string;
  /** The same as the framework routes it, where that may be another one. */
  readonly routedTarget?: string;
  readonly route?: string | undefined;
}

/** Required access of a request, the resource with its domain wherever the service states one; or the answer to a caller that may not ask. */
export type RuleOutcome =
  | { readonly kind: 'asked'; readonly asked: RequiredAccess }
  | { readonly kind: 'refused'; readonly code: 400 | 404; readonly message: string }
  | { readonly kind: 'denied'; readonly status: Status };

/** The rule of a middleware, ready to be asked. */
export class RequestRule {
  readonly #options: RuleOptions;
  readonly #served: ServedDomains;

  /** `engineDomains`: what the engine was told. Throws `PolicyEngineError('invalid-options')` for domains that are none or not among them. */
  constructor(options: RuleOptions, engineDomains?: readonly string[]) {
    this.#options = options;
    this.#served = new ServedDomains(options.domains ?? engineDomains);
    if (engineDomains === undefined || this.#served.isWithin(engineDomains)) return;
    throw new PolicyEngineError('invalid-options', '`domains` must be among those of the engine');
  }

  /** Throws `PolicyEngineError('invalid-options')` unless every resource will have a domain. */
  requireDomains(): this {
    const { rule } = this.#options;
    const isTold = typeof rule === 'function' ? this.#served.names !== undefined : this.#isComplete(rule);
    if (isTold) return this;
    throw new PolicyEngineError(
      'invalid-options',
      '`domains` is required: set the domains that this service serves, here or in the engine',
    );
  }

  /** Throws what the rule throws. */
  read(request: SeenRequest): RuleOutcome {
    const path = canonicalPath(request.target);
    if (path === undefined) return refused(400, 'path is not in canonical form');
    const asked = this.#ask(request, path);
    if (this.#readings(request, path).some((other) => !isSame(this.#ask(request, other), asked))) {
      return refused(400, 'path is ambiguous');
    }
    if (asked === undefined) return refused(404, 'unknown endpoint');
    const qualified = this.#served.qualify(asked.resource);
    if ('status' in qualified) return { kind: 'denied', status: qualified.status };
    return { kind: 'asked', asked: { ...asked, resource: qualified.resource } };
  }

  #isComplete(asked: unknown): boolean {
    if (typeof asked !== 'object' || asked === null) return false;
    const { action, resource }: { action?: unknown; resource?: unknown } = asked;
    if (typeof action !== 'string' || typeof resource !== 'string') return false;
    return this.#served.names === undefined ? !isUnqualified(resource) : !('status' in this.#served.qualify(resource));
  }

  #ask({ method, route }: SeenRequest, path: string): RequiredAccess | undefined {
    const { rule } = this.#options;
    return typeof rule === 'function' ? rule({ method, path, ...(route !== undefined && { route }) }) : rule;
  }

  /**
   * Alternative readings of the path by a router: without regard to case, up to a `;`, as rewritten upstream, or with an empty parameter behind
   * the `/` at its end.
   */
  #readings({ target, routedTarget = target, route }: SeenRequest, path: string): readonly string[] {
    if (typeof this.#options.rule !== 'function') return [];
    const routed = routedTarget === target ? path : canonicalPath(routedTarget);
    const others = new Set(routed === undefined ? [''] : [routed]);
    if (route !== undefined && isShorter(path, route) && endsInSlash(target)) others.add(`${path}/`);
    for (const each of others) {
      const cut = each.indexOf(';');
      if (cut >= 0) others.add(withoutEndingSlash(each.slice(0, cut)));
      if (this.#options.caseSensitive !== true) others.add(each.toLowerCase());
    }
    others.delete(path);
    return [...others];
  }
}

function withoutEndingSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** True if the path has fewer segments than the route. */
function isShorter(path: string, route: string): boolean {
  return path.split('/').length < route.split('/').length;
}

function endsInSlash(target: string): boolean {
  return /^[^?#]+\/(?:[?#]|$)/.test(target);
}

/** Capitals make no difference to policy. */
function isSame(one: RequiredAccess | undefined, other: RequiredAccess | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return foldAscii(one.action) === foldAscii(other.action) && foldAscii(one.resource) === foldAscii(other.resource);
}

function refused(code: 400 | 404, message: string): RuleOutcome {
  return { kind: 'refused', code, message };
}
