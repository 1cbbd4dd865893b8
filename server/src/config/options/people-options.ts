import { z } from 'zod';
import { about, day, hostGrammar, httpsAddress, pathSchema, seconds } from './about.ts';

/** A person by the name that a certificate gets; a common name has at most 64 characters. */
const personName = z
  .string()
  .max(64)
  .regex(/^user\.[a-z0-9_][a-z0-9_-]*$/, 'must be `user.<name>` in lower case');

/** An issuer of ID tokens (OpenID Connect Core §2), and how its people are called here. */
const loginIssuer = z.strictObject({
  issuer: httpsAddress.meta(about('0.2', 'https://login.example', '`iss` of its tokens, exactly.')),
  clientId: z
    .string()
    .min(1)
    .max(256)
    .meta(
      about(
        '0.2',
        'signet',
        '`aud` of its tokens: the client id of `signet login`, a public client with a loopback redirect.',
      ),
    ),
  scopes: z
    .array(z.string().regex(/^[!#-[\]-~]{1,64}$/))
    .max(16)
    .default([])
    .meta(about('0.2', ['email'], 'Scopes that `signet login` requests beside `openid`.')),
  keysFile: pathSchema.optional().meta(
    about('0.2', 'login-keys.json', 'JWK set with the public keys of the issuer.', {
      absent: 'as the issuer publishes it at `/.well-known/openid-configuration`',
    }),
  ),
  ca: pathSchema.optional().meta(
    about('0.2', 'login-ca.pem', 'PEM certificates that the certificate of the issuer must chain to.', {
      absent: 'what this machine trusts',
    }),
  ),
  subjects: z
    .record(z.string().regex(/^[!-~]{1,255}$/), personName)
    .optional()
    .meta(
      about('0.2', { '248289761001': 'user.jane' }, 'Names of people by `sub`; this or `claim`.', {
        absent: '`claim`',
      }),
    ),
  claim: z
    .string()
    .regex(/^[!-~]{1,128}$/)
    .optional()
    .meta(
      about(
        '0.2',
        'preferred_username',
        'The claim of the ID token that has the name after `user.`; this or `subjects`.',
        {
          absent: '`subjects`',
        },
      ),
    ),
  prefix: z
    .string()
    .regex(/^([a-z0-9_][a-z0-9_-]{0,31})?$/)
    .default('')
    .meta(about('0.2', 'staff-', 'Prefix for the value of the claim.')),
  emailDomain: z
    .string()
    .max(253)
    .regex(hostGrammar, 'must be a lower-case host name')
    .optional()
    .meta(
      about(
        '0.2',
        'example.com',
        'With the claim `email`: the only accepted domain of verified addresses; `jane.doe@…` is `user.jane_doe`.',
        { absent: 'none; the claim `email` needs one' },
      ),
    ),
  administrators: z
    .array(personName)
    .max(1000)
    .default([])
    .meta(about('0.2', ['user.jane'], 'Names with roles in `sys.auth` that may log in.')),
  maxAgeSeconds: seconds(60, 3600)
    .default(600)
    .meta(about('0.2', 300, 'Maximum age of a token.')),
});

export const peopleSchema = z.strictObject({
  expirySeconds: seconds(60, 398 * day)
    .default(7 * day)
    .meta(
      about(
        '0.2',
        day,
        'Lifetime of certificates that operators issue for people and services, if the request has none.',
      ),
    ),
  maxExpirySeconds: seconds(60, 398 * day)
    .default(30 * day)
    .meta(
      about(
        '0.2',
        14 * day,
        'Maximum lifetime of a certificate for a person; for a service it is `certificates.serviceMaxExpirySeconds`.',
      ),
    ),
  loginExpirySeconds: seconds(60, 43_200)
    .default(43_200)
    .meta(about('0.2', 28_800, 'Lifetime of the certificates from a login.')),
  issuers: z
    .array(loginIssuer)
    .max(16)
    .default([])
    .meta(
      about(
        '0.2',
        [{ issuer: 'https://login.example', clientId: 'signet', subjects: { '248289761001': 'user.jane' } }],
        "OpenID Connect issuers for people's logins; without any, there is no login.",
      ),
    ),
});
