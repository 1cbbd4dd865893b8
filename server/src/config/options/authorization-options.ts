import { z } from 'zod';
import { about, day, seconds } from './about.ts';

export const tokensSchema = z.strictObject({
  defaultExpirySeconds: seconds(1, 30 * day)
    .default(7200)
    .meta(about('0.1', 3600, 'Lifetime of an access token if the request has none.')),
  maxExpirySeconds: seconds(1, 30 * day)
    .optional()
    .meta(
      about(
        '0.1',
        14_400,
        'Maximum lifetime of an access token. If set, limits of domains and roles cannot raise it.',
        { absent: 'two hours, or up to 30 days where a limit of the domain or of the role says so' },
      ),
    ),
  bound: z
    .boolean()
    .default(true)
    .meta(about('0.1', false, "Whether tokens carry the thumbprint of the caller's certificate (RFC 8705).")),
  idTokens: z
    .boolean()
    .default(true)
    .meta(about('0.1', false, 'Whether ID tokens are issued.')),
});

const quota = (most: number, example: number, what: string) =>
  z
    .int()
    .min(1)
    .default(most)
    .meta(about('0.1', example, `At most how many ${what} a domain may have.`));

export const managementSchema = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .meta(about('0.1', false, 'Whether the management API is served, under `/management/v1`.')),
  alone: z
    .boolean()
    .default(false)
    .meta(about('0.1', true, 'Serve only the management API and the health endpoints.')),
  quotas: z
    .strictObject({
      roles: quota(10_000, 1000, 'roles'),
      members: quota(100_000, 10_000, 'members of roles and groups together'),
      groups: quota(10_000, 1000, 'groups'),
      policies: quota(2000, 200, 'policies'),
      assertions: quota(20_000, 5000, 'assertions'),
      services: quota(10_000, 500, 'services'),
      keys: quota(10_000, 1000, 'public keys of services'),
    })
    .prefault({})
    .meta({ description: 'Quotas of domains without their own.' }),
  requests: z
    .strictObject({
      expirySeconds: z
        .int()
        .min(3600)
        .max(2_592_000)
        .default(604_800)
        .meta(about('0.2', 86_400, 'Life of an open change request, in seconds.')),
      issuedByOperators: z
        .boolean()
        .default(false)
        .meta(
          about(
            '0.2',
            true,
            'Accept approvals although operators issued both certificates, of author and approver. For installations without log-in.',
          ),
        ),
    })
    .prefault({})
    .meta({ description: 'Change requests and their approvals.' }),
});

export const accessChecksSchema = z.strictObject({
  restricted: z
    .boolean()
    .default(false)
    .meta(
      about('0.1', true, 'Require `access_check` on `<domain>:principal.<principal>` to ask about another principal.'),
    ),
});
