import { ensureSigningKeys, ensureStandbyKeys, type RotateKeysDeps } from '../keys/rotate-keys.ts';
import type { Logger } from '../logger.ts';
import { isUnwritable } from '../store/open.ts';

/**
 * Makes missing signing keys. A disk that cannot be written does not keep the server from starting: `/readyz` reports
 * what is missing. Without a standby key only an urgent rotation suffers.
 */
export async function makeSigningKeys(deps: RotateKeysDeps, logger: Logger): Promise<void> {
  try {
    await ensureSigningKeys(deps);
  } catch (error) {
    if (!isUnwritable(error)) throw error;
    logger.error({ error: String(error) }, 'signing key is missing and cannot be created');
    return;
  }
  try {
    await ensureStandbyKeys(deps);
  } catch (error) {
    logger.warn(
      { error: String(error) },
      'standby key cannot be created: in an emergency, verifiers would not know the next key',
    );
  }
}
