import type { PolicyEngineError } from './errors.ts';

/** Callback for errors that stop nothing: with the file that could not be used, or the call (`decide`) that failed. */
export type OnError = (error: PolicyEngineError, place: string) => void;

/** Tells the listener; what it throws goes nowhere, as it has no say in what is in force or decided. */
export function reportFault(
  { onError }: { readonly onError?: OnError },
  error: PolicyEngineError,
  place: string,
): void {
  try {
    onError?.(error, place);
  } catch {
    // See above.
  }
}
