import { createHash, timingSafeEqual } from 'node:crypto';
import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { CertificateReader } from './client-certificate.ts';
import type { Endpoint } from './endpoints.ts';
import { AccessRefusedError, HttpError } from './http-error.ts';
import { readJsonObject } from './json-body.ts';

/** The machines that this service vouches for: what each may be an instance of, and how it proves which one it is. */
interface AttestationRules {
  /** Permitted caller: the token server. */
  readonly asker: string;
  /** The name under which this service is a provider, `domain.service`. */
  readonly provider: string;
  /** Machines by instance id. */
  readonly machines: Readonly<Record<string, { readonly service: string; readonly secretSha256: string }>>;
}

const confirmationSchema = z.object({
  provider: z.string(),
  domain: z.string(),
  service: z.string(),
  attestationData: z.string(),
  attributes: z.record(z.string(), z.string()).default({}),
});

type Confirmation = z.output<typeof confirmationSchema>;

/**
 * `POST /attest/instance` and `POST /attest/refresh`: the token server asks whether a machine is what it says it is. Here a machine proves
 * itself with a secret that it was given when it was set up; a cloud would check a document that it has signed. A machine that
 * refreshes has shown the certificate that it got before.
 */
export function attestationEndpoints(
  rules: AttestationRules,
  certificateOf: CertificateReader,
  logger: Pick<Logger, 'info' | 'warn'>,
): readonly Endpoint[] {
  const requireAccess: Middleware = (ctx, next) => {
    const principal = certificateOf(ctx.req).principal;
    if (principal === rules.asker) return next();
    throw new AccessRefusedError({ reason: 'not the token server', message: 'only the token server may ask' });
  };
  const endpoint = (path: string, isProven: (confirmation: Confirmation) => boolean): Endpoint => ({
    method: 'POST',
    path,
    requireAccess,
    handle: async (ctx) => {
      const confirmation = parseConfirmation(await readJsonObject(ctx.req));
      const { provider, domain, service, attributes } = confirmation;
      const asked = { path, instanceId: attributes['instanceId'], service: `${domain}.${service}` };
      if (!isOurs(rules, confirmation) || !isProven(confirmation)) {
        logger.warn(asked, 'machine refused');
        throw new HttpError(403, 'unknown machine');
      }
      logger.info(asked, 'machine confirmed');
      ctx.body = { provider, domain, service, attributes: { certSSH: 'false' } };
    },
  });
  return [
    endpoint('/attest/instance', (confirmation) => holdsSecret(rules, confirmation)),
    endpoint(
      '/attest/refresh',
      ({ domain, service, attributes }) => attributes['principal'] === `${domain}.${service}`,
    ),
  ];
}

function parseConfirmation(value: unknown): Confirmation {
  const parsed = confirmationSchema.safeParse(value);
  if (!parsed.success) throw new HttpError(400, 'the body is not an InstanceConfirmation');
  return parsed.data;
}

function machineOf(rules: AttestationRules, { attributes }: Confirmation) {
  const id = attributes['instanceId'] ?? '';
  return Object.hasOwn(rules.machines, id) ? rules.machines[id] : undefined;
}

/**
 * True if the request is for this provider, the machine is known and authentic, and no name is requested that the provider would have to vouch
 * for.
 */
function isOurs(rules: AttestationRules, confirmation: Confirmation): boolean {
  const { provider, domain, service, attributes } = confirmation;
  const isPlain = (attributes['sanDNS'] ?? '') === '' && attributes['sanIP'] === undefined;
  return provider === rules.provider && isPlain && machineOf(rules, confirmation)?.service === `${domain}.${service}`;
}

function holdsSecret(rules: AttestationRules, confirmation: Confirmation): boolean {
  const expected = Buffer.from(machineOf(rules, confirmation)?.secretSha256 ?? '', 'hex');
  const given = createHash('sha256').update(confirmation.attestationData).digest();
  return expected.length === given.length && timingSafeEqual(expected, given);
}
