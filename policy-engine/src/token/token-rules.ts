import { PolicyEngineError } from '../errors.ts';
import { weakestRsaBits } from '../keys/decode-jwk.ts';

/** Least value of each option that is an integer. */
const numbers = { minRsaBits: weakestRsaBits, maxTokenLifeSeconds: 1, skewSeconds: 0, maxCachedTokens: 0 };
const switches = ['requireBound', 'legacyTypes', 'roleInAudience'] as const;

/** Callers without types get an error that names the option, in place of a bound that bounds nothing. */
export function checkTokenRules(options: unknown): void {
  const given: Readonly<Record<string, unknown>> = Object(options);
  for (const [name, least] of Object.entries(numbers)) {
    if (given[name] !== undefined && !isWhole(given[name], least)) {
      throw new PolicyEngineError('invalid-options', `\`${name}\` must be an integer, ${least} or more`);
    }
  }
  for (const name of switches) {
    if (given[name] !== undefined && typeof given[name] !== 'boolean') {
      throw new PolicyEngineError('invalid-options', `\`${name}\` must be true or false`);
    }
  }
}

function isWhole(value: unknown, least: number): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= least;
}
