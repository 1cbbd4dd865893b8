import { InvalidNameError } from '@signet/policy-engine/names';
import { SignetClientError } from './client-errors.ts';

/** Runs name parsers over a caller's values; their error becomes `invalid-argument`. */
export function parseArguments<Result>(parse: () => Result): Result {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof InvalidNameError)) throw error;
    throw new SignetClientError('invalid-argument', error.message, { cause: error });
  }
}

/** `value` when it is an integer in the range, else `invalid-argument`. */
export function wholeNumber(value: number, name: string, least: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw new SignetClientError('invalid-argument', `${name} must be an integer from ${least} to ${most}`);
}
