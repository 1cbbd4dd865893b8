/** Caller on whose behalf a call-out is made. */
export interface CallOutCaller {
  /** Key of a caller: its calls at a time are limited to `maxInFlightOfCaller`. */
  readonly key: string;
  readonly operation: 'register' | 'refresh';
}

/** Calls to one provider at a time: a slow one holds no more than this. */
const maxInFlight = 128;
/** Maximum of calls for registrations, which strangers ask for: the rest is for instances that are registered. */
const maxInFlightOfRegistrations = 96;
/** Maximum of calls for one caller, so that it blocks none of the others. */
const maxInFlightOfCaller = 24;

/** Share of the calls to a provider that is used up. */
export type TakenBy = 'caller' | 'registrations' | 'all';

/** The call-outs that are under way to one provider. */
export class CallSlots {
  readonly #callers = new Map<string, number>();
  #registrations = 0;
  #all = 0;

  get isIdle(): boolean {
    return this.#all === 0;
  }

  /** Takes a slot until `release`, or returns the share that is used up. */
  take({ key, operation }: CallOutCaller): TakenBy | undefined {
    const own = this.#callers.get(key) ?? 0;
    if (own >= maxInFlightOfCaller) return 'caller';
    if (this.#all >= maxInFlight) return 'all';
    if (operation === 'register' && this.#registrations >= maxInFlightOfRegistrations) return 'registrations';
    this.#callers.set(key, own + 1);
    this.#all += 1;
    if (operation === 'register') this.#registrations += 1;
    return undefined;
  }

  release({ key, operation }: CallOutCaller): void {
    const left = (this.#callers.get(key) ?? 0) - 1;
    if (left > 0) this.#callers.set(key, left);
    else this.#callers.delete(key);
    this.#all -= 1;
    if (operation === 'register') this.#registrations -= 1;
  }
}
