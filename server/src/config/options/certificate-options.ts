import { maxSuffixLength } from '@signet/policy-engine/names';
import { z } from 'zod';
import { sshExtensions } from '../../ssh/ssh-profile.ts';
import { about, day, hostGrammar, pathSchema, seconds } from './about.ts';

/** DNS suffix below which every instance has a name, whatever its id. */
const suffix = z.string().max(maxSuffixLength).regex(hostGrammar, 'must be a lower-case host name');

/** An address of a list in certificates; `{issuer}` is the id of the authority that signed them. */
export const distributionPoint = z
  .string()
  .max(512)
  .regex(/^[!-~]+$/, 'must be printable ASCII without blanks')
  .refine((text) => {
    const url = URL.parse(text);
    return (url?.protocol === 'http:' || url?.protocol === 'https:') && url.username === '' && url.password === '';
  }, 'must be an http or https address')
  .refine((text) => text.split('{issuer}').length === 2, 'must hold `{issuer}` once');

export const tlsSchema = z.strictObject({
  certificate: pathSchema.meta(
    about('0.1', 'server.cert.pem', 'PEM certificate of the server, followed by those between it and the root.'),
  ),
  key: pathSchema.meta(about('0.1', 'server.key.pem', 'PEM private key of `tls.certificate`.')),
  clientCa: pathSchema.meta(about('0.1', 'ca/bundle.pem', 'PEM certificates that client certificates must chain to.')),
  renew: z
    .boolean()
    .default(false)
    .meta(
      about(
        '0.1',
        true,
        'Whether the server renews its certificate in time with one of its own issuers, for the same names.',
      ),
    ),
});

/** How many issuers a server takes. */
export const issuerPlaces = 8;

const issuer = z.strictObject({
  certificate: pathSchema.meta(
    about('0.1', 'ca/intermediate.cert.pem', 'PEM certificate of the authority, followed by those up to the root.'),
  ),
  key: pathSchema.meta(about('0.1', 'ca/intermediate.key.pem', 'PEM private key of the authority.')),
  state: z
    .enum(['active', 'draining'])
    .default('active')
    .meta(
      about('0.1', 'draining', '`draining`: it signs no new certificates, but its revocation list is still published.'),
    ),
});

export const certificatesSchema = z.strictObject({
  issuers: z
    .array(issuer)
    .max(issuerPlaces)
    .default([])
    .meta(
      about(
        '0.1',
        [{ certificate: 'ca/intermediate.cert.pem', key: 'ca/intermediate.key.pem' }],
        'Issuing authorities; the first active and valid one signs. Without any, no certificates are issued.',
      ),
    ),
  roots: pathSchema
    .optional()
    .meta(about('0.1', 'ca/roots.pem', 'PEM roots that issued certificates chain to.', { absent: '`tls.clientCa`' })),
  trustDomain: suffix.default('signet.local').meta(about('0.1', 'prod.example', 'Host of the SPIFFE ids.')),
  dnsSuffix: suffix.optional().meta(
    about('0.1', 'services.example', 'Suffix of the DNS names that this server makes.', {
      absent: '`certificates.trustDomain`',
    }),
  ),
  dnsSuffixes: z
    .array(suffix)
    .min(1)
    .max(16)
    .optional()
    .meta(
      about(
        '0.2',
        ['athenz.cloud'],
        'Profile `athenz`: suffixes below which a service has the name `<service>.<domain with dashes>.<suffix>`, and a principal the mail address `<principal>@<suffix>`, in its certificates.',
        { absent: 'profile `athenz`: `certificates.dnsSuffix` and `athenz.cloud`; else none' },
      ),
    ),
  serviceExpirySeconds: seconds(60, 398 * day)
    .default(30 * day)
    .meta(about('0.1', 7 * day, 'Lifetime of a service certificate if the request has none.')),
  serviceMaxExpirySeconds: seconds(60, 398 * day)
    .default(30 * day)
    .meta(about('0.1', 14 * day, 'Maximum lifetime of a service certificate.')),
  roleExpirySeconds: seconds(60, 30 * day)
    .default(30 * day)
    .meta(about('0.1', day, 'Lifetime of a role certificate if the request has none.')),
  roleMaxExpirySeconds: seconds(60, 30 * day)
    .default(30 * day)
    .meta(about('0.1', 7 * day, 'Maximum lifetime of a role certificate.')),
  crlLifetimeSeconds: seconds(600, 30 * day)
    .default(day)
    .meta(about('0.1', 7 * day, 'Lifetime of a revocation list; it is reissued after half of it.')),
  reloadIntervalMs: z
    .int()
    .min(100)
    .max(3_600_000)
    .default(5000)
    .meta(about('0.1', 60_000, "How often the issuers' files are checked for changes.")),
});

export const crlSchema = z.strictObject({
  roots: z
    .array(pathSchema)
    .max(8)
    .default([])
    .meta(
      about(
        '0.2',
        ['ca/root.crl.pem'],
        'Revocation lists of the roots, DER or PEM; `signet ca root-crl` makes them where the key of the root is.',
      ),
    ),
  maxAgeSeconds: seconds(0, day)
    .default(60)
    .meta(about('0.2', 300, 'Cache lifetime of a list; never past its expiry.')),
  distributionPoints: z
    .array(distributionPoint)
    .max(4)
    .default([])
    .meta(
      about(
        '0.2',
        ['http://pki.example/v1/crl/{issuer}'],
        'URLs of the revocation list in certificates; `{issuer}` is the id of the authority.',
      ),
    ),
  listen: z
    .strictObject({
      host: z
        .string()
        .min(1)
        .default('127.0.0.1')
        .meta(about('0.2', '0.0.0.0', 'Address or host name to listen on.')),
      port: z
        .int()
        .min(0)
        .max(65_535)
        .optional()
        .meta(about('0.2', 8080, 'TCP port of plain HTTP; 0: any free one.', { absent: 'there is no such listener' })),
    })
    .prefault({})
    .meta({
      description:
        'Plain HTTP that serves the revocation lists and the certificates of the authorities, and nothing else.',
    }),
});

export const sshSchema = z.strictObject({
  hostAuthority: pathSchema.optional().meta(
    about('0.1', 'ca/ssh-host.key.pem', 'PEM private key (Ed25519 or P-256) that signs SSH certificates of hosts.', {
      absent: 'none are issued',
    }),
  ),
  userAuthority: pathSchema.optional().meta(
    about('0.1', 'ca/ssh-user.key.pem', 'PEM private key (Ed25519 or P-256) that signs SSH certificates of users.', {
      absent: 'none are issued',
    }),
  ),
  hostExpirySeconds: seconds(60, 90 * day)
    .default(30 * day)
    .meta(about('0.1', 7 * day, 'Lifetime of an SSH host certificate.')),
  userExpirySeconds: seconds(60, 7 * day)
    .default(3600)
    .meta(about('0.1', 28_800, 'Lifetime of an SSH user certificate.')),
  loginDomain: z
    .string()
    .regex(/^[a-z0-9_][a-z0-9_-]*(\.[a-z0-9_][a-z0-9_-]*)*$/)
    .default('sys.auth')
    .meta(
      about(
        '0.1',
        'infra.login',
        'The domain whose policy grants logins that name no domain: `ssh_login` on `<domain>:ssh.<login>`.',
      ),
    ),
  extensions: z
    .array(z.enum(sshExtensions))
    .default(['permit-pty'])
    .meta(about('0.1', ['permit-pty', 'permit-agent-forwarding'], 'What user certificates permit.')),
  sourceAddresses: z
    .array(z.union([z.cidrv4(), z.cidrv6()], 'must be a network, e.g. `10.0.0.0/8`'))
    .default([])
    .meta(
      about('0.1', ['10.0.0.0/8'], 'Networks (CIDR) from which user certificates are accepted; empty: from anywhere.'),
    ),
  forceCommand: z
    .string()
    .min(1)
    .max(1024)
    .regex(/^\P{Cc}*$/u)
    .optional()
    .meta(
      about('0.1', '/usr/local/bin/session', 'Command that runs instead of the requested one.', {
        absent: 'what the user asks for',
      }),
    ),
});
