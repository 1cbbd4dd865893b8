import { Readable } from 'node:stream';
import { AssumeRoleCommand, type Credentials, STSClient, STSServiceException } from '@aws-sdk/client-sts';
import { secureClientOptions } from '@signet/policy-engine/http';
import { readAtMost } from '../base/read-at-most.ts';
import { InvalidRequestError, ServiceUnavailableError } from '../errors.ts';
import type { AssumeRole } from './credentials-cache.ts';
import type { RoleSession, TemporaryCredentials } from './role-session.ts';

interface StsOptions {
  /** Region of the endpoint, e.g. `eu-central-1`. */
  readonly region: string;
  /** Endpoint instead of the region's own, e.g. of a private link. */
  readonly endpoint?: string;
  /** Milliseconds for one attempt, connecting included. Default 5000. */
  readonly timeoutMs?: number;
}

const attempts = 2;
/** Allowance for the SDK's start and the pause between two attempts. */
const spareMs = 5000;

/** Several times as long as any answer to AssumeRole; what the SDK does with one holds other requests up meanwhile. */
const maxAnswerBytes = 32_768;

/** Codes that say that this server's own credentials or rate are at fault, not the caller's request. */
const ownFaults: ReadonlySet<string> = new Set([
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidClientTokenId',
  'UnrecognizedClientException',
  'SignatureDoesNotMatch',
  'IncompleteSignature',
  'RequestExpired',
  'Throttling',
  'ThrottlingException',
  'RequestLimitExceeded',
  'TooManyRequestsException',
]);

/**
 * AssumeRole over the AWS SDK, with the credentials of its standard provider chain (environment, files, container or
 * instance role) and at most one retry. `close` frees the connections.
 */
export function createSts(options: StsOptions): { assumeRole: AssumeRole; close(): void } {
  const timeout = options.timeoutMs ?? 5000;
  const client = new STSClient({
    region: options.region,
    ...(options.endpoint !== undefined && { endpoint: options.endpoint }),
    maxAttempts: attempts,
    requestHandler: {
      connectionTimeout: timeout,
      requestTimeout: timeout,
      throwOnRequestTimeout: true,
      httpsAgent: secureClientOptions,
    },
  });
  // Within all others: the SDK itself reads the whole answer, however long it is.
  client.middlewareStack.add(
    (next) => async (request) => {
      const output = await next(request);
      await boundAnswer(output.response);
      return output;
    },
    { step: 'deserialize', priority: 'low', name: 'boundAnswer' },
  );
  return {
    assumeRole: async (session) => {
      try {
        // The deadline of an attempt ends with the headers of its answer; this one holds for its body, too.
        const abortSignal = AbortSignal.timeout(attempts * timeout + spareMs);
        const answer = await client.send(new AssumeRoleCommand(toInput(session)), { abortSignal });
        return toCredentials(answer.Credentials);
      } catch (error) {
        throw translate(error);
      }
    },
    close: () => client.destroy(),
  };
}

/** Replaces the stream of an answer by its bytes. Throws when it is too long. */
async function boundAnswer(response: unknown): Promise<void> {
  if (typeof response !== 'object' || response === null || !('body' in response)) return;
  if (response.body instanceof Readable) response.body = await readAtMost(response.body, maxAnswerBytes);
}

function toInput(session: RoleSession) {
  return {
    RoleArn: session.roleArn,
    RoleSessionName: session.sessionName,
    SourceIdentity: session.sourceIdentity,
    Tags: session.tags.map(({ key, value }) => ({ Key: key, Value: value })),
    ...(session.durationSeconds !== undefined && { DurationSeconds: session.durationSeconds }),
    ...(session.externalId !== undefined && { ExternalId: session.externalId }),
  };
}

function toCredentials(credentials: Credentials | undefined): TemporaryCredentials {
  const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = credentials ?? {};
  if (!AccessKeyId || !SecretAccessKey || !SessionToken || Expiration === undefined) {
    throw new ServiceUnavailableError('the cloud answered without credentials');
  }
  return {
    accessKeyId: AccessKeyId,
    secretAccessKey: SecretAccessKey,
    sessionToken: SessionToken,
    expiration: Expiration.getTime(),
  };
}

/** The cloud's own words go to the caller only when the cloud refused; the rest is for the log. */
function translate(error: unknown): Error {
  if (error instanceof ServiceUnavailableError) return error;
  if (error instanceof STSServiceException && error.$fault === 'client' && !ownFaults.has(error.name)) {
    const reason = error.message.replace(/[\p{Cc}]+/gu, ' ').slice(0, 500);
    return new InvalidRequestError(`the cloud refused the role: ${error.name}: ${reason}`);
  }
  const name = error instanceof Error ? error.name : 'unknown';
  return new ServiceUnavailableError('the cloud cannot be asked now', { detail: { cause: name } });
}
