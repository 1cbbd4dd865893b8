import { SignetClientError } from './client-errors.ts';

interface Flight<Value> {
  readonly result: Promise<Value>;
  readonly abort: AbortController;
  waiting: number;
}

/**
 * Work of which at most one of each key is under way: concurrent callers share the result. A caller that aborts stops waiting, the others go on;
 * the work itself is aborted when the last one has left.
 */
export class SharedFlights<Value> {
  readonly #flights = new Map<string, Flight<Value>>();

  /** Throws what `start` throws, or `aborted` when `signal` fires first. */
  async run(key: string, start: (signal: AbortSignal) => Promise<Value>, signal?: AbortSignal): Promise<Value> {
    if (signal?.aborted) throw abortedBy(signal);
    const flight = this.#flights.get(key) ?? this.#begin(key, start);
    flight.waiting += 1;
    try {
      return await withSignal(flight.result, signal);
    } finally {
      flight.waiting -= 1;
      if (flight.waiting === 0) {
        this.#forget(key, flight);
        flight.abort.abort();
      }
    }
  }

  #begin(key: string, start: (signal: AbortSignal) => Promise<Value>): Flight<Value> {
    const abort = new AbortController();
    const flight: Flight<Value> = { result: start(abort.signal), abort, waiting: 0 };
    this.#flights.set(key, flight);
    const forget = () => this.#forget(key, flight);
    // also marks a failure as handled when every caller has gone
    flight.result.then(forget, forget);
    return flight;
  }

  #forget(key: string, flight: Flight<Value>): void {
    if (this.#flights.get(key) === flight) this.#flights.delete(key);
  }
}

function abortedBy(signal: AbortSignal): SignetClientError {
  return new SignetClientError('aborted', 'the request was aborted by the caller', { cause: signal.reason });
}

function withSignal<Value>(result: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return result;
  return new Promise((resolve, reject) => {
    const stop = () => reject(abortedBy(signal));
    signal.addEventListener('abort', stop, { once: true });
    result.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
