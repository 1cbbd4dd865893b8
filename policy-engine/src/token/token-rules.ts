import { PolicyEngineError } from '../errors.ts';
import { weakestRsaBits } from '../keys/decode-jwk.ts';

/** Callers without types get an error that names the option, in place of a bound that bounds nothing. */
export function checkTokenRules(options: unknown): void {
  const { minRsaBits, maxTokenLifeSeconds }: { minRsaBits?: unknown; maxTokenLifeSeconds?: unknown } =
    typeof options === 'object' && options !== null ? options : {};
  if (minRsaBits !== undefined && !isWhole(minRsaBits, weakestRsaBits)) {
    throw new PolicyEngineError('invalid-options', `\`minRsaBits\` must be an integer, ${weakestRsaBits} or more`);
  }
  if (maxTokenLifeSeconds !== undefined && !isWhole(maxTokenLifeSeconds, 1)) {
    throw new PolicyEngineError('invalid-options', '`maxTokenLifeSeconds` must be an integer, 1 or more');
  }
}

function isWhole(value: unknown, least: number): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= least;
}
