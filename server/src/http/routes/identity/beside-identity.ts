import { formatTimestamp } from '@signet/policy-engine/clock';
import { z } from 'zod';
import type { InstanceIdentity } from '../../../instances/instance-deps.ts';
import { parseBody } from '../../../instances/instance-request.ts';
import type { SigningKeys } from '../../../keys/signing-keys.ts';
import type { SigningKeyRecord } from '../../../model/records.ts';
import { issueServiceToken, type ServiceTokenDeps, type ServiceTokenFacts } from '../../../oauth/service-token.ts';
import { certificatesInPem, readCertificate } from '../../../x509/certificate-reader.ts';

/** An instance that was given its identity, and the certificate that it has where it got no new one. */
interface GivenIdentity {
  readonly identity: InstanceIdentity;
  readonly domain: string;
  readonly service: string;
  readonly address: string;
  readonly presented?: Pick<ServiceTokenFacts, 'serial' | 'notAfter'>;
}

/** Members of an answer to an instance beside its identity: the body is validated before anything is issued. Throws `InvalidRequestError`. */
export type BesideIdentity = (body: unknown) => (given: GivenIdentity) => Readonly<Record<string, unknown>>;

export const nothingBeside: BesideIdentity = () => () => ({});

interface BesideDeps {
  readonly tokens: ServiceTokenDeps;
  readonly keys: Pick<SigningKeys, 'current'>;
  readonly signingKeys: () => readonly SigningKeyRecord[];
}

const wanted = z.object({ token: z.boolean().nullish(), athenzJWK: z.boolean().nullish() });

/** The profile `athenz`: a service token with `token`, and the server's keys with `athenzJWK`. */
export function athenzBeside(deps: BesideDeps): BesideIdentity {
  return (body) => {
    const { token, athenzJWK } = parseBody(wanted, body);
    return (given) => {
      const certificate = certificateOf(given);
      return {
        ...(token === true &&
          certificate !== undefined && { serviceToken: issueServiceToken(deps.tokens, { ...given, ...certificate }) }),
        ...(athenzJWK === true && { athenzJWK: keysOf(deps) }),
      };
    };
  };
}

function certificateOf({ identity, presented }: GivenIdentity): GivenIdentity['presented'] {
  const [der] = identity.x509Certificate === undefined ? [] : certificatesInPem(identity.x509Certificate);
  return der === undefined ? presented : readCertificate(der);
}

function keysOf({ keys, signingKeys }: BesideDeps) {
  const list = { keys: keys.current().published };
  const changes = signingKeys().map(({ createdAt, compromisedAt = 0 }) => Math.max(createdAt, compromisedAt));
  return { zts: list, zms: list, modified: formatTimestamp(Math.max(0, ...changes)) };
}
