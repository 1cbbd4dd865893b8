import { type Clock, parseTimestamp, toDate } from '@signet/policy-engine/clock';
import { parseDomainName } from '@signet/policy-engine/names';
import { parseArguments, wholeNumber } from './arguments.ts';
import { BoundedMap } from './bounded-map.ts';
import { SignetClientError } from './client-errors.ts';
import { decodeObject, malformed, stringMember } from './decode.ts';
import type { Http } from './http/http.ts';
import { SharedFlights } from './shared-flights.ts';
import { isReusable } from './tokens/is-reusable.ts';

/** A request for temporary credentials of a cloud role. */
export interface AwsQuery {
  readonly domain: string;
  /** Name of the cloud role, with its path if it has one (`team/loader`); case counts in the cloud. */
  readonly role: string;
  /** 900 to 43,200; default as the cloud has it. */
  readonly durationSeconds?: number;
  /** External id that the role is configured with. */
  readonly externalId?: string;
  readonly signal?: AbortSignal;
}

/** Temporary credentials of a cloud role (docs/reference/cloud-credentials.md#what-is-asked). */
export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Credentials provider of the AWS SDK for JavaScript, for its option `credentials`. */
export type AwsCredentialProvider = () => Promise<{
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
  readonly expiration: ReturnType<typeof toDate>;
}>;

interface Kept {
  readonly credentials: AwsCredentials;
  readonly lifetimeMs: number;
}

/** Temporary credentials of cloud roles, kept in memory until a quarter of their life is left; one request a role at a time. */
export class Aws {
  readonly #http: Http;
  readonly #clock: Clock;
  readonly #subject: () => Promise<string>;
  readonly #cache = new BoundedMap<Kept>(1000);
  readonly #flights = new SharedFlights<Kept>();

  /** `subject` answers the subject of the caller's certificate: what one may have is not another's. */
  constructor(http: Http, clock: Clock, subject: () => Promise<string>) {
    this.#http = http;
    this.#clock = clock;
    this.#subject = subject;
  }

  /**
   * `GET /domain/{domainName}/role/{roleName}/creds`. Throws `refused`: 403 without the right `assume_aws_role`, 404 for an
   * unknown domain, 400 when the cloud refuses; and `server-error` with 503 when the cloud cannot be asked.
   */
  async credentials(query: AwsQuery): Promise<AwsCredentials> {
    const { domain, role, durationSeconds, externalId } = parseQuery(query);
    const key = JSON.stringify([await this.#subject(), domain, role, durationSeconds, externalId]);
    const kept = this.#cache.get(key);
    if (kept !== undefined && isReusable(this.#clock.now(), kept.credentials.expiresAt, kept.lifetimeMs)) {
      return kept.credentials;
    }
    const fetched = await this.#flights.run(
      key,
      async (signal) => {
        const askedAt = this.#clock.now();
        const { body } = await this.#http.send({
          method: 'GET',
          path: ['domain', domain, 'role', role, 'creds'],
          query: { durationSeconds: durationSeconds?.toString(), externalId },
          signal,
        });
        const credentials = decode(body);
        const fresh = { credentials, lifetimeMs: credentials.expiresAt - askedAt };
        this.#cache.set(key, fresh);
        return fresh;
      },
      query.signal,
    );
    return fetched.credentials;
  }

  /** The same as the AWS SDK for JavaScript wants it: `new S3Client({ credentials: client.aws.provider({ … }) })`. */
  provider(query: Omit<AwsQuery, 'signal'>): AwsCredentialProvider {
    return async () => {
      const { expiresAt, ...credentials } = await this.credentials(query);
      return { ...credentials, expiration: toDate(expiresAt) };
    };
  }
}

function parseQuery({ domain, role, durationSeconds, externalId }: AwsQuery) {
  if (!/^[\w+=,.@/-]{1,576}$/.test(role)) throw new SignetClientError('invalid-argument', 'role is not a role name');
  return {
    domain: parseArguments(() => parseDomainName(domain, 'domain')),
    role,
    durationSeconds:
      durationSeconds === undefined ? undefined : wholeNumber(durationSeconds, 'durationSeconds', 900, 43_200),
    externalId,
  };
}

function decode(body: Uint8Array): AwsCredentials {
  const json = decodeObject(body);
  const expiresAt = parseTimestamp(stringMember(json, 'expiration'));
  if (expiresAt === undefined) throw malformed('`expiration` is not a time');
  return {
    accessKeyId: stringMember(json, 'accessKeyId'),
    secretAccessKey: stringMember(json, 'secretAccessKey'),
    sessionToken: stringMember(json, 'sessionToken'),
    expiresAt,
  };
}
