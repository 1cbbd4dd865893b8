import type { Clock } from '@signet/policy-engine/clock';
import { LRUCache } from 'lru-cache';
import { atMost } from '../base/at-most.ts';
import { type Budget, type BudgetLimits, BudgetTable } from './budget-table.ts';
import { strangerOf } from './client-addresses.ts';

/** Budget that is used up. */
export type Payer = 'certificate' | 'principal' | 'address' | 'strangers' | 'shared-address';

/** The budget of a group, and what one of its members may take of it: of the work, of a burst and of the requests in flight. */
interface GroupLimits extends BudgetLimits {
  readonly share: number;
}

export interface BudgetDeps {
  readonly principal: GroupLimits;
  /** Limits of all strangers together; its members are their addresses. */
  readonly strangers: GroupLimits;
  /** True if many clients have this address: a translator, or a balancer that does not pass on its clients' addresses. */
  readonly isShared: (address: string) => boolean;
  /** Milliseconds that only grow, from any start. */
  readonly monotonic: Clock;
}

/** Reason of a refusal, and the time of a retry. */
export interface Refusal {
  readonly payer: Payer;
  readonly name: string;
  readonly over: 'work' | 'in-flight';
  readonly waitMs: number;
}

/** Account of a request or a connection: a member of a group, and the group. */
export interface Account {
  /** True if the tables still have it; otherwise request another one. */
  isCurrent(): boolean;
  /** Refusal that applies now; undefined if none. */
  refusal(): Refusal | undefined;
  /** Counts a request in flight, unless the account is in debt or has as many as it may: then says so. */
  enter(): Refusal | undefined;
  /** The request is over. */
  leave(): void;
  /** Charges work, in microseconds; a negative amount is given back. */
  charge(microseconds: number): void;
}

/** The budgets of this process. */
export interface Budgets {
  /** Account of a caller with a proved certificate; `certificate` distinguishes those of one principal. */
  ofCertificate(principal: string, certificate: string): Account;
  /** Account of an unauthenticated caller. */
  ofStranger(address: string): Account;
  /**
   * Account of a connection that is not authenticated yet: as a stranger's, but other strangers do not exhaust it for addresses known lately.
   */
  ofConnection(address: string): Account;
  /** Reserve for the handshakes of clients whose address is in debt. */
  readonly reserve: Account;
  /** Records that a certificate was proved from this address. */
  remember(address: string): void;
}

interface Share {
  readonly payer: Payer;
  readonly name: string;
  readonly table: BudgetTable;
  readonly budget: Budget;
}

/** Maximum of remembered addresses from which a certificate was proved lately. */
const maxKnownAddresses = 65_536;
const knownMs = 3_600_000;

/** Share of the reserve, as a part of the budget of all strangers. */
const reservedShare = 0.2;

/** Once again at the earliest, where there are too many requests in flight. */
const inFlightWaitMs = 1000;

function memberLimits({ workMsPerSecond, burstMs, inFlight, share }: GroupLimits): BudgetLimits {
  return {
    workMsPerSecond: workMsPerSecond * share,
    burstMs: burstMs * share,
    inFlight: Math.max(1, Math.floor(inFlight * share)),
  };
}

/** A second of work at once, so that a flood finds no more than that. */
function reserveOf(strangers: GroupLimits): BudgetTable {
  const workMsPerSecond = strangers.workMsPerSecond * reservedShare;
  return new BudgetTable({ ...strangers, workMsPerSecond, burstMs: workMsPerSecond });
}

export function createBudgets({ principal, strangers, isShared, monotonic }: BudgetDeps): Budgets {
  const tables = {
    principal: new BudgetTable(principal),
    certificate: new BudgetTable(memberLimits(principal)),
    strangers: new BudgetTable(strangers),
    address: new BudgetTable(memberLimits(strangers)),
    // The clients behind it may be as many as all strangers.
    'shared-address': new BudgetTable(strangers),
  } satisfies Record<Payer, BudgetTable>;
  const share = (payer: Payer, key: string, name: string): Share => {
    const table = tables[payer];
    return { payer, name, table, budget: table.of(key, monotonic.now()) };
  };
  const known = new LRUCache<string, true>({
    ...atMost(maxKnownAddresses),
    ttl: knownMs,
    ttlResolution: 0,
    perf: monotonic,
  });
  const reserve = reserveOf(strangers);
  const account = (...shares: readonly Share[]): Account => new SharedAccount(shares, monotonic);
  const stranger = (address: string, withOthers: (name: string) => boolean): Account => {
    const name = strangerOf(address);
    if (isShared(address)) return account(share('shared-address', name, name));
    const own = share('address', name, name);
    return withOthers(name) ? account(own, share('strangers', '', 'strangers')) : account(own);
  };
  return {
    ofCertificate: (name, certificate) =>
      account(share('certificate', `${name} ${certificate}`, name), share('principal', name, name)),
    ofStranger: (address) => stranger(address, () => true),
    ofConnection: (address) => stranger(address, (name) => !known.has(name)),
    reserve: account({ payer: 'strangers', name: 'reserve', table: reserve, budget: reserve.of('', monotonic.now()) }),
    remember: (address) => void known.set(strangerOf(address), true),
  };
}

class SharedAccount implements Account {
  readonly #shares: readonly Share[];
  readonly #monotonic: Clock;

  constructor(shares: readonly Share[], monotonic: Clock) {
    this.#shares = shares;
    this.#monotonic = monotonic;
  }

  isCurrent(): boolean {
    return this.#shares.every(({ budget }) => !budget.isForgotten);
  }

  refusal(): Refusal | undefined {
    const now = this.#monotonic.now();
    for (const { payer, name, table, budget } of this.#shares) {
      const waitMs = table.waitMs(budget, now);
      if (waitMs > 0) return { payer, name, over: 'work', waitMs };
    }
    return undefined;
  }

  enter(): Refusal | undefined {
    const refused = this.refusal() ?? this.#crowded();
    if (refused === undefined) for (const { budget } of this.#shares) budget.inFlight += 1;
    return refused;
  }

  leave(): void {
    for (const { budget } of this.#shares) budget.inFlight -= 1;
  }

  charge(microseconds: number): void {
    const now = this.#monotonic.now();
    for (const { table, budget } of this.#shares) table.charge(budget, microseconds, now);
  }

  #crowded(): Refusal | undefined {
    const full = this.#shares.find(({ table, budget }) => budget.inFlight >= table.limits.inFlight);
    return full && { payer: full.payer, name: full.name, over: 'in-flight', waitMs: inFlightWaitMs };
  }
}
