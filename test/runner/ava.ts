/* The parts of AVA that it does not export. Its version is pinned; where they change, no test runs at all. */

/** A change that AVA reports: a test passed, an error was thrown, a process ended. */
export interface StateChange {
  readonly type: string;
  readonly [detail: string]: unknown;
}

/** Options that AVA passes to the process of a test file. */
export interface FileOptions {
  readonly file: string;
}

/** Runs the tests of one file. */
export interface Runner {
  /** The function `test` for this file. */
  readonly chain: object;
  on(event: 'stateChange' | 'error', listener: (event: { readonly data: StateChange }) => void): void;
  on(event: 'finish', listener: () => void): void;
}

const load = (name: string) => import(new URL(`../lib/${name}.js`, import.meta.resolve('ava')).href);

export const Runner: new (options: object) => Runner = (await load('runner')).default;
/** Holds the function that a test file imports as `test`. */
export const { refs }: { refs: { runnerChain: object } } = await load('worker/state');
export const serializeError: (error: unknown, of: { testFile: string }) => object = (await load('serialize-error'))
  .default;
