import { setTimeout as pause } from 'node:timers/promises';
import type { Account, Budgets, Payer, Refusal } from '../budgets/budgets.ts';
import { costs } from '../budgets/costs.ts';
import type { Refusals } from '../budgets/refusals.ts';
import { TooManyRequestsError } from '../errors.ts';
import type { Connections } from './connections.ts';
import type { AppContext, Middleware } from './context.ts';

interface BudgetRuleDeps {
  readonly budgets: Budgets;
  readonly connections: Connections;
  readonly refusals: Refusals;
  /** Whether a path is asked by probes, which are never refused. */
  readonly isProbe: (path: string) => boolean;
  /** What a request costs beside being read and answered, as far as its path tells; microseconds. */
  readonly workOf: (method: string, path: string) => number;
  /** How long a refusal is held back, in milliseconds. */
  readonly refusalDelayMs: number;
}

export interface BudgetRules {
  /** After authentication: admits the request or throws `TooManyRequestsError`, and takes what it has cost. */
  readonly middleware: Middleware;
  /** A credential was refused or missing (401): the address pays. */
  unauthenticated(ctx: AppContext): void;
}

/**
 * Rate and concurrency (docs/decisions/026). A refusal is held back for a moment, one at a time on a connection: so
 * many connections, so many refusals a second, however fast they ask.
 */
export function budgetRules(deps: BudgetRuleDeps): BudgetRules {
  const held = new WeakSet<object>();
  const refuse = async (ctx: AppContext, refusal: Refusal): Promise<never> => {
    const { socket } = ctx.req;
    deps.refusals.request(refusal);
    if (held.has(socket)) ctx.set('Connection', 'close');
    else {
      held.add(socket);
      await pause(deps.refusalDelayMs);
      held.delete(socket);
    }
    throw tooMany(refusal);
  };
  return {
    async middleware(ctx, next) {
      const account = accountOf(deps.budgets, ctx);
      const isProbe = deps.isProbe(ctx.path);
      const refusal = isProbe ? undefined : account.enter();
      if (refusal !== undefined) return refuse(ctx, refusal);
      if (!isProbe) ctx.res.on('close', () => account.leave());
      if (ctx.state.certificate !== undefined) deps.connections.settle(ctx.req.socket, account);
      account.charge(
        costs.request + Number(ctx.get('content-length')) * costs.bodyByte + deps.workOf(ctx.method, ctx.path),
      );
      try {
        await next();
      } finally {
        const late = unannouncedLength(ctx) * costs.bodyByte + (ctx.response.length ?? 0) * costs.answerByte;
        account.charge(ctx.state.work + late);
        // A prober is answered; who asks without end has to connect again, and pays for that.
        if (isProbe && account.refusal() !== undefined) ctx.set('Connection', 'close');
      }
    },
    unauthenticated(ctx) {
      const account = deps.budgets.ofStranger(ctx.state.address);
      account.charge(costs.request + ctx.state.work);
      // The next try costs a connection, which is not opened while the address is in debt.
      if (account.refusal() !== undefined) ctx.set('Connection', 'close');
    },
  };
}

/** Who makes the load pays: the holder of the connection's certificate, whatever principal token it carries. */
function accountOf(budgets: Budgets, { state }: AppContext): Account {
  const { certificate, principal, address } = state;
  if (certificate !== undefined) return budgets.ofCertificate(certificate.principal.name, certificate.serial);
  // By a principal token alone: a copy of it spends no more than a share from each address.
  return principal === undefined ? budgets.ofStranger(address) : budgets.ofCertificate(principal.name, address);
}

/** What was read of a body whose length was not announced. */
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
