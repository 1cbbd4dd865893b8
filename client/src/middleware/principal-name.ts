import { parsePrincipalName } from '@signet/policy-engine/names';

/** True if a name is that of a service or user, in full. */
export function isPrincipalName(name: string): boolean {
  if (name.includes(':') || !name.includes('.')) return false;
  try {
    return parsePrincipalName(name, 'principal') === name;
  } catch {
    return false;
  }
}
