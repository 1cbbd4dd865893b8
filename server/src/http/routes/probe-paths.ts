import type { Addresses } from '../../config/config.ts';

/** Paths at the root for probes, and below the base URL. */
export function healthPaths({ basePath }: Addresses): string[] {
  return [...new Set(['/healthz', `${basePath}/healthz`])];
}

export function readinessPaths({ basePath }: Addresses): string[] {
  return [...new Set(['/readyz', `${basePath}/readyz`])];
}

/** Paths of probes, which are free of charge. */
export function probePaths(addresses: Addresses): ReadonlySet<string> {
  return new Set([...healthPaths(addresses), ...readinessPaths(addresses)]);
}
