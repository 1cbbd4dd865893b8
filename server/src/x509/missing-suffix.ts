import type { FormGrants } from './name-forms.ts';

/**
 * Right that would let the caller hold a refused DNS name, as the end of a message; empty if there is none, or none is known to help. `isGranted`
 * is the rule that refused it.
 */
export function missingSuffixRight<Grants extends FormGrants>(
  grants: Grants,
  isGranted: (grants: Grants) => boolean,
): string {
  const { suffixRight } = grants;
  if (suffixRight === undefined) return '';
  const asked: string[] = [];
  const mayUseSuffix = (suffix: string) => asked.push(suffix) > 0;
  const [first] = isGranted({ ...grants, mayUseSuffix }) ? asked : [];
  return first === undefined ? '' : `: ${suffixRight(first)}`;
}
