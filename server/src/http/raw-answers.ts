import type { Duplex } from 'node:stream';
import type { Observer } from '../observer.ts';

/** The connections that were answered before their request was read, and who counts those answers. */
export interface RawAnswers {
  readonly observer: Pick<Observer, 'answered' | 'tokenRefused'> | undefined;
  add(socket: Duplex, status: number, method?: string): void;
  has(socket: Duplex): boolean;
}

export function rawAnswers(observer: RawAnswers['observer']): RawAnswers {
  const answered = new WeakSet<Duplex>();
  return {
    observer,
    add: (socket, status, method) => {
      answered.add(socket);
      observer?.answered(undefined, method, status);
    },
    has: (socket) => answered.has(socket),
  };
}
