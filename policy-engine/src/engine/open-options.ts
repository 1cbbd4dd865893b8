import { PolicyEngineError } from '../errors.ts';
import { didYouMean } from '../nearest.ts';
import { checkTokenRules } from '../token/token-rules.ts';
import type { OpenOptions } from './requests.ts';

const known: Readonly<Record<keyof OpenOptions, true>> = {
  policyDir: true,
  floorFile: true,
  rescanIntervalMs: true,
  watch: true,
  athenzBundles: true,
  keys: true,
  issuers: true,
  domains: true,
  clock: true,
  requireBound: true,
  skewSeconds: true,
  legacyTypes: true,
  roleInAudience: true,
  maxTokenLifeSeconds: true,
  minRsaBits: true,
  maxCachedTokens: true,
  records: true,
  meter: true,
  onError: true,
};

/** Callers without types get an error that names the option. */
export function checkOpenOptions(options: unknown): void {
  checkNames(options);
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

/** A mistyped option would leave a rule of the verifier at its default. */
function checkNames(options: unknown): void {
  if (typeof options !== 'object' || options === null) return;
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const hint = didYouMean(unknown, Object.keys(known));
  throw new PolicyEngineError('invalid-options', `\`${unknown}\` is not an option of PolicyEngine.open${hint}`);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText);
}
