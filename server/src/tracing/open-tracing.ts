import type { Tracing } from './tracing.ts';

/** Global that every version 1 of `@opentelemetry/api` sets once something was registered with it. */
const registered = Symbol.for('opentelemetry.js.api.1');

/** Undefined where no SDK was registered before the server started: then nothing is asked on the way of a request, nor is its API loaded. */
export async function openTracing(): Promise<Tracing | undefined> {
  if (!(registered in globalThis)) return undefined;
  const { tracingOfSdk } = await import('./tracing.ts');
  return tracingOfSdk();
}
