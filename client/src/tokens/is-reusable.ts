/**
 * The caching rule (docs/reference/tokens.md#caching-in-clients): a kept token is reused only while at least a quarter of its
 * life remains. All in milliseconds; `lifetime` is the life that was asked for.
 */
export function isReusable(now: number, expiresAt: number, lifetime: number): boolean {
  const remaining = expiresAt - now;
  return remaining > 0 && remaining >= lifetime / 4;
}
