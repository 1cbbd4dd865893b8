import { PolicyEngineError } from '../errors.ts';
import { checkTokenRules } from '../token/token-rules.ts';
import type { OpenOptions } from './requests.ts';

/** Callers without types get an error that names the option. */
export function checkOpenOptions(options: unknown): void {
  checkTokenRules(options);
  const { policyDir, issuers, floorFile, athenzBundles }: { [Name in keyof OpenOptions]?: unknown } =
    typeof options === 'object' && options !== null ? options : {};
  if (!isText(policyDir) && !(isTextList(policyDir) && policyDir.length > 0)) {
    throw new PolicyEngineError('invalid-options', '`policyDir` must be a path or a list of paths');
  }
  if (issuers !== undefined && !isTextList(issuers)) {
    throw new PolicyEngineError('invalid-options', '`issuers` must be an array of strings');
  }
  if (floorFile !== undefined && !isText(floorFile)) {
    throw new PolicyEngineError('invalid-options', '`floorFile` must be a path');
  }
  if (athenzBundles !== undefined && typeof athenzBundles !== 'boolean') {
    throw new PolicyEngineError('invalid-options', '`athenzBundles` must be true or false');
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}
