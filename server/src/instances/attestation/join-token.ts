import { hash } from 'node:crypto';
import { type Clock, epochSeconds } from '@signet/policy-engine/clock';
import type { PrincipalName } from '@signet/policy-engine/names';
import { ForbiddenError } from '../../errors.ts';
import type { RecordingConditions } from '../../model/certificate-store.ts';
import type { InstanceKey, InstanceStore } from '../../model/instance-store.ts';
import { type AttestationProvider, plainlyAttested } from './attestation.ts';

const prefix = 'signet-join-';
/** Maximum length of a join token; a longer one is not looked up in the store. */
const maxTokenLength = 128;

/* Digest of a token. The store holds digests only, so that its readers cannot register anything. */
function digestOf(text: string): string {
  return hash('sha256', text, 'base64url');
}

export interface JoinTokenDeps {
  readonly instances: Pick<InstanceStore, 'addJoinToken'>;
  readonly clock: Clock;
  readonly randomBytes: (size: number) => Buffer;
  readonly joinTokenSeconds: number;
}

/**
 * Makes a join token that registers exactly this instance, within its life. Answers its text, which is kept nowhere. Throws what the
 * conditions throw.
 */
export async function createJoinToken(
  deps: JoinTokenDeps,
  createdBy: PrincipalName,
  key: InstanceKey,
  conditions: RecordingConditions,
): Promise<string> {
  const text = `${prefix}${deps.randomBytes(32).toString('base64url')}`;
  const expires = epochSeconds(deps.clock) + deps.joinTokenSeconds;
  await deps.instances.addJoinToken(digestOf(text), { ...key, expires, createdBy }, conditions);
  return text;
}

/**
 * Attests by a join token. It is spent by the transaction that records the instance, so that a fault before that leaves it as it was. At a refresh
 * there is nothing to present: the certificate and its lineage speak for the instance.
 */
export function joinTokenProvider(deps: {
  readonly instances: Pick<InstanceStore, 'isJoinTokenOpen'>;
  readonly clock: Clock;
  /** True to trim white space around a token: Athenz's own tools write a line feed behind it. */
  readonly trimsJoinTokens: boolean;
}): AttestationProvider {
  return {
    async attest(request) {
      if (request.operation === 'refresh') return plainlyAttested;
      const { provider, domain, service, instanceId } = request;
      const attestationData = deps.trimsJoinTokens ? request.attestationData.trim() : request.attestationData;
      const isToken = attestationData.startsWith(prefix) && attestationData.length <= maxTokenLength;
      const key = { provider, domain, service, instanceId };
      const joinToken = digestOf(attestationData);
      const isOpen = isToken && (await deps.instances.isJoinTokenOpen(joinToken, key, epochSeconds(deps.clock)));
      if (!isOpen)
        throw new ForbiddenError(
          'attestationData is not a valid join token for this instance: it was used, has expired or belongs to another one; `signet instance token` makes one',
        );
      return { ...plainlyAttested, joinToken };
    },
  };
}
