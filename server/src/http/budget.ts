import { setTimeout as pause } from 'node:timers/promises';
import type { Account, Budgets, Payer, Refusal } from '../budgets/budgets.ts';
import { costs } from '../budgets/costs.ts';
import type { Refusals } from '../budgets/refusals.ts';
import { TooManyRequestsError } from '../errors.ts';
import type { Connections } from './connections.ts';
import type { AppContext, RequestState } from './context.ts';

interface BudgetRuleDeps {
  readonly budgets: Budgets;
  readonly connections: Connections;
  readonly refusals: Refusals;
  /** True if a path serves probes, which are never refused. */
  readonly isProbe: (path: string) => boolean;
  /** Cost of a request beside being read and answered, by its path; microseconds. */
  readonly workOf: (method: string, path: string) => number;
  /** Delay of a refusal, in milliseconds. */
  readonly refusalDelayMs: number;
}

/** Result of the budgets for one request. */
export interface Admission {
  readonly refusal?: Refusal | undefined;
  /** Ends the request's share: its caller has the whole answer, or is gone. */
  leave(): void;
  /** The answer is ready: takes what it has cost. */
  settle(ctx: AppContext): void;
}

export interface BudgetRules {
  /** Admission after authentication: whether the request may go on. */
  admit(ctx: AppContext): Admission;
  /** Throws `TooManyRequestsError`, after a moment. */
  refuse(ctx: AppContext, refusal: Refusal): Promise<never>;
  /** A credential was refused or missing (401): the address pays. */
  unauthenticated(ctx: AppContext): void;
}

/**
 * Rate and concurrency (docs/decisions/026). A refusal is delayed for a moment, one at a time on a connection: the rate of refusals is bounded
 * by the number of connections, however fast requests come.
 */
export function budgetRules(deps: BudgetRuleDeps): BudgetRules {
  const held = new WeakSet<object>();
  const accountOf = accounts(deps.budgets);
  return {
    admit(ctx) {
      const { req, state } = ctx;
      const { path } = state;
      const account = accountOf(state);
      const isProbe = deps.isProbe(path);
      const refusal = isProbe ? undefined : account.enter();
      if (refusal !== undefined) return refused(refusal);
      if (state.certificate !== undefined) deps.connections.settle(req.socket, account);
      account.charge(costs.request + state.announcedBytes * costs.bodyByte + deps.workOf(req.method ?? '', path));
      return new Admitted(account, isProbe);
    },
    async refuse(ctx, refusal) {
      const { socket } = ctx.req;
      deps.refusals.request(refusal);
      if (held.has(socket)) ctx.set('Connection', 'close');
      else {
        held.add(socket);
        await pause(deps.refusalDelayMs);
        held.delete(socket);
      }
      throw tooMany(refusal);
    },
    unauthenticated(ctx) {
      const account = deps.budgets.ofStranger(ctx.state.address);
      account.charge(costs.request + ctx.state.work);
      // The next try costs a connection, which is not opened while the address is in debt.
      if (account.refusal() !== undefined) ctx.set('Connection', 'close');
    },
  };
}

function refused(refusal: Refusal): Admission {
  return { refusal, leave: () => undefined, settle: () => undefined };
}

class Admitted implements Admission {
  readonly #account: Account;
  readonly #isProbe: boolean;

  constructor(account: Account, isProbe: boolean) {
    this.#account = account;
    this.#isProbe = isProbe;
  }

  leave(): void {
    if (!this.#isProbe) this.#account.leave();
  }

  settle(ctx: AppContext): void {
    const answered = ctx.state.answer?.text.length ?? Number(ctx.res.getHeader('content-length') ?? 0);
    const late = unannouncedLength(ctx) * costs.bodyByte + answered * costs.answerByte;
    this.#account.charge(ctx.state.work + late);
    // A prober is answered; a client that asks without end has to connect again, and pays for that.
    if (this.#isProbe && this.#account.refusal() !== undefined) ctx.set('Connection', 'close');
  }
}

/** Account that is charged: the holder of the connection's certificate, whatever principal token it carries. */
function accounts(budgets: Budgets): (state: RequestState) => Account {
  const known = new WeakMap<object, Account>();
  return ({ certificate, principal, address }) => {
    if (certificate === undefined) {
      // A principal token alone is charged by address too: a copy of it spends no more than a share from each.
      return principal === undefined ? budgets.ofStranger(address) : budgets.ofCertificate(principal.name, address);
    }
    const last = known.get(certificate);
    if (last?.isCurrent() === true) return last;
    const account = budgets.ofCertificate(certificate.principal.name, certificate.serial);
    known.set(certificate, account);
    return account;
  };
}

/** Bytes read of a body whose length was not announced. */
function unannouncedLength({ req, request }: AppContext): number {
  return req.headers['transfer-encoding'] === undefined ? 0 : (request.rawBody?.length ?? 0);
}

const owners: Readonly<Record<Payer, string>> = {
  certificate: 'this certificate',
  principal: 'this principal',
  address: 'this address',
  strangers: 'callers without a certificate',
  'shared-address': 'this address',
};

function tooMany({ payer, name, over, waitMs }: Refusal): TooManyRequestsError {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  const text =
    over === 'work'
      ? `the rate limit of ${owners[payer]} is exceeded, try again in ${retryAfterSeconds} s`
      : `${owners[payer]} has too many requests in flight, try again in ${retryAfterSeconds} s`;
  return new TooManyRequestsError(text, { retryAfterSeconds, detail: { payer, name, over } });
}
