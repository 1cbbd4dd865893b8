import { z } from 'zod';
import {
  count,
  descriptionSchema,
  domain,
  flag,
  httpsUrl,
  plain,
  secondsSchema,
  services,
  time,
} from './field-kinds.ts';

/** Maximum time for which a role may be asked for. */
export const maxRequestSeconds = 2_592_000;

/** Time for which a role may be asked for. */
const requestSecondsSchema = z
  .int('must be an integer (seconds)')
  .min(60, 'must be at least 60 seconds')
  .max(maxRequestSeconds, 'must be at most 2,592,000 seconds (30 days)');

export const awsAccountSchema = z.string().regex(/^\d{12}$/, 'must be 12 digits');

/** Fields of a domain and its parts. A new field takes a line here, a migration with its column, and a line in the guides. */
export const recordFields = {
  domain: {
    description: plain('description', descriptionSchema, 'Films'),
    /** Disabled: its services cannot authenticate, its policies decide nothing. */
    enabled: flag('enabled', true),
    /** True if every change of the domain requires a reason. */
    requireReason: flag('require_reason', false),
    /** Services whose hosts keep the bundle of this domain, where their updaters ask for that (decision 058). No permission. */
    bundleReaders: services('bundle_readers', 100, ['films.api', 'media.updater']),
    /** Approvals by other persons that every change of the domain needs. */
    approvals: count('approvals', 3, 1),
  },
  /** Upper bounds; where a domain has none, only the server's own ceiling counts. */
  limits: {
    tokenExpirySeconds: plain('token_expiry_seconds', secondsSchema, 61),
    serviceCertExpirySeconds: plain('service_cert_expiry_seconds', secondsSchema, 62),
    roleCertExpirySeconds: plain('role_cert_expiry_seconds', secondsSchema, 63),
  },
  /** Cloud accounts in which its roles may be used: not columns, but rows by provider. */
  accounts: { aws: plain('aws', awsAccountSchema, '012345678901') },
  role: {
    description: plain('description', descriptionSchema, 'Watches films'),
    /** The domain that decides who is in this role. */
    trust: domain('trust', 'media'),
    tokenExpirySeconds: plain('token_expiry_seconds', secondsSchema, 64),
    certExpirySeconds: plain('cert_expiry_seconds', secondsSchema, 65),
    /** Approvals by other persons that a change of the role and of who is in it needs. */
    approvals: count('approvals', 3, 1),
    /** Maximum time for which anyone may ask for the role; absent: it cannot be asked for. */
    requestSeconds: plain('request_seconds', requestSecondsSchema, 3600),
  },
  group: { description: plain('description', descriptionSchema, 'Critics') },
  member: {
    expires: time('expires', '2030-01-01T00:00:00.000Z'),
    disabled: flag('disabled', false),
    /** Date of the next review of this membership. */
    review: time('review', '2029-01-01T00:00:00.000Z'),
  },
  /** Fields of every version of a policy. */
  policy: {
    description: plain('description', descriptionSchema, 'Who watches what'),
    /** True if bundles carry actions and resources in the case given; decisions always ignore case. */
    caseSensitive: flag('case_sensitive', false),
  },
  service: {
    description: plain('description', descriptionSchema, 'Serves films'),
    enabled: flag('enabled', true),
    /** Endpoint at which a provider confirms instances. */
    endpoint: httpsUrl('provider_endpoint', 'https://films.example/confirm'),
  },
} as const;
