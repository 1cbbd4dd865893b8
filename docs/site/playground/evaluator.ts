import type { Reply, Request } from './messages.ts';

/** How long the worker may take for one answer, in milliseconds. */
const deadlineMs = 60_000;

interface Asked {
  readonly request: Request;
  readonly tell: (reply: Reply) => void;
}

/** Asks a worker, one question after the other; one that takes too long is ended with its worker. */
export class Evaluator {
  readonly #start: () => Worker;
  #worker: Worker | undefined;
  #waiting: Asked[] = [];
  #current: Asked | undefined;
  #deadline: ReturnType<typeof setTimeout> | undefined;

  constructor(start: () => Worker) {
    this.#start = start;
  }

  /** Tells the reply. An evaluation that waits for its turn gives way to a newer one, and is told nothing. */
  ask(request: Request, tell: (reply: Reply) => void): void {
    if (request.kind === 'evaluate') this.#waiting = this.#waiting.filter((one) => one.request.kind !== 'evaluate');
    this.#waiting.push({ request, tell });
    this.#next();
  }

  close(): void {
    clearTimeout(this.#deadline);
    this.#worker?.terminate();
    this.#worker = undefined;
  }

  #next(): void {
    const [next, ...others] = this.#waiting;
    if (this.#current !== undefined || next === undefined) return;
    this.#waiting = others;
    this.#current = next;
    this.#worker ??= this.#started();
    this.#deadline = setTimeout(() => this.#giveUp('this takes too long: the documents are too large'), deadlineMs);
    this.#worker.postMessage(next.request);
  }

  #started(): Worker {
    const worker = this.#start();
    worker.addEventListener('message', ({ data }: MessageEvent<Reply>) => this.#answered(data));
    worker.addEventListener('error', () => this.#giveUp('the evaluation has failed: load the page again'));
    return worker;
  }

  #giveUp(message: string): void {
    this.close();
    this.#answered({ kind: 'failed', message });
  }

  #answered(reply: Reply): void {
    clearTimeout(this.#deadline);
    const current = this.#current;
    this.#current = undefined;
    current?.tell(reply);
    this.#next();
  }
}
