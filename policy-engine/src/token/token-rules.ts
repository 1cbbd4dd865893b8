import { PolicyEngineError } from '../errors.ts';
import { weakestRsaBits } from '../keys/decode-jwk.ts';

type TokenRule = 'minRsaBits' | 'maxTokenLifeSeconds' | 'roleInAudience';

/** Callers without types get an error that names the option, in place of a bound that bounds nothing. */
export function checkTokenRules(options: unknown): void {
  const { minRsaBits, maxTokenLifeSeconds, roleInAudience }: { [Name in TokenRule]?: unknown } =
    typeof options === 'object' && options !== null ? options : {};
  if (minRsaBits !== undefined && !isWhole(minRsaBits, weakestRsaBits)) {
    throw new PolicyEngineError('invalid-options', `\`minRsaBits\` must be an integer, ${weakestRsaBits} or more`);
  }
  if (maxTokenLifeSeconds !== undefined && !isWhole(maxTokenLifeSeconds, 1)) {
    throw new PolicyEngineError('invalid-options', '`maxTokenLifeSeconds` must be an integer, 1 or more');
  }
  if (roleInAudience !== undefined && typeof roleInAudience !== 'boolean') {
    throw new PolicyEngineError('invalid-options', '`roleInAudience` must be true or false');
  }
}

function isWhole(value: unknown, least: number): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= least;
}
