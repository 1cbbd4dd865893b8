import { z } from 'zod';
import { about, addresses, day, httpsAddress, pathSchema, seconds } from './about.ts';

/* Characters that the names of each kind can hold: those of domains dots as well, ids most of all. */
const holds: Readonly<Record<string, RegExp>> = {
  domain: /[a-z0-9_.-]/i,
  service: /[a-z0-9_-]/i,
  instanceId: /[a-z0-9\\._~=+@$,:-]/i,
};

/**
 * True if a filled template can be read in one way only: from one of its ends, each name stops at a character that it cannot hold. Else `a-b`
 * and `c` could be `a` and `b-c`.
 */
function tellsNamesApart(template: string): boolean {
  const [, ...parts] = template.split(/\{(domain|service|instanceId)\}/);
  const names = parts.filter((_, index) => index % 2 === 0);
  const texts = parts.filter((_, index) => index % 2 === 1);
  const ends = (name = '', text = '') => [...text].some((character) => holds[name]?.test(character) === false);
  while (names.length > 1) {
    if (ends(names[0], texts[0])) {
      names.shift();
      texts.shift();
    } else if (ends(names.at(-1), texts.at(-2))) {
      names.pop();
      texts.pop();
    } else return false;
  }
  return true;
}

/** Template for `sub`. Without the names of both, or where they run together, a token for one service would attest another one. */
const subjectTemplate = z
  .string()
  .min(1)
  .refine((text) => text.includes('{domain}') && text.includes('{service}'), 'must hold `{domain}` and `{service}`')
  .refine(
    tellsNamesApart,
    'must part its names by a character that one of them cannot hold, e.g. `/`, or as `{domain}.{service}`',
  );

/** `https`, or `http` on this machine. */
const stsAddress = z.string().refine((text) => {
  const url = URL.parse(text);
  const isLocal = url?.protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  return url?.protocol === 'https:' || isLocal;
}, 'must be an https address');

const jwtIssuer = z.strictObject({
  provider: z
    .string()
    .min(1)
    .meta(about('0.1', 'sys.auth.ci', 'Name of the provider, as in `launch` assertions and requests.')),
  issuer: z
    .string()
    .min(1)
    .meta(about('0.1', 'https://ci.example', '`iss` of its tokens.')),
  audience: z
    .string()
    .min(1)
    .meta(about('0.1', 'signet', 'One of the `aud` of its tokens.')),
  subject: subjectTemplate.meta(
    about('0.1', 'system:{domain}:{service}', 'Required `sub`, with `{domain}`, `{service}` and `{instanceId}`.'),
  ),
  claims: z
    .record(z.string().min(1), z.string())
    .default({})
    .meta(
      about(
        '0.1',
        { environment: 'production' },
        'Further claims that its tokens must have, by their path: a dot parts members, `\\.` is a dot in a name. Values as in `subject`.',
      ),
    ),
  keysFile: pathSchema.optional().meta(
    about('0.1', 'ci-keys.json', 'JWK set with the public keys of the issuer; this or `keysUrl`.', {
      absent: '`keysUrl`',
    }),
  ),
  keysUrl: httpsAddress.optional().meta(
    about('0.1', 'https://ci.example/jwks', 'Address of the JWK set of the issuer; this or `keysFile`.', {
      absent: '`keysFile`',
    }),
  ),
  maxAgeSeconds: seconds(1, 30 * day)
    .default(day)
    .meta(about('0.1', 3600, 'Maximum age of a token, by its `iat`.')),
});

export const instancesSchema = z.strictObject({
  joinTokens: z
    .strictObject({
      provider: z
        .string()
        .min(1)
        .default('sys.auth.server')
        .meta(
          about('0.1', 'sys.auth.bootstrap', 'The provider whose instances register with join tokens of this server.'),
        ),
      lifetimeSeconds: seconds(1, 7 * day)
        .default(1800)
        .meta(about('0.1', 600, 'Lifetime of a join token if the request has none.')),
    })
    .prefault({})
    .meta({ description: 'Instances that register with a join token of this server.' }),
  jwtIssuers: z
    .array(jwtIssuer)
    .default([])
    .meta(
      about(
        '0.1',
        [
          {
            provider: 'sys.auth.ci',
            issuer: 'https://ci.example',
            audience: 'signet',
            subject: 'system:{domain}:{service}',
            keysUrl: 'https://ci.example/jwks',
          },
        ],
        'Token issuers that attest instances.',
      ),
    ),
  reservedAddresses: addresses.meta(
    about(
      '0.2',
      ['10.0.0.5'],
      'Addresses and networks, such as balancers and proxies, that are never certified for an instance, in addition to those of this machine.',
    ),
  ),
  callOut: z
    .strictObject({
      allow: z
        .array(z.string().min(1))
        .default([])
        .meta(
          about(
            '0.1',
            ['*.providers.example', '10.1.0.0/16'],
            'Host names, `*.suffix`, addresses and networks of provider endpoints that may be called.',
          ),
        ),
      timeoutMs: z
        .int()
        .min(100)
        .max(9500)
        .default(8000)
        .meta(about('0.1', 3000, "Timeout of a provider's answer.")),
    })
    .prefault({})
    .meta({ description: 'Calls to the endpoints of providers.' }),
});

export const cloudSchema = z.strictObject({
  aws: z
    .strictObject({
      region: z
        .string()
        .regex(/^[a-z]{2,}(-[a-z0-9]+)+$/, 'must be a region, e.g. eu-central-1')
        .optional()
        .meta(
          about(
            '0.1',
            'eu-central-1',
            "Region of the STS. The server's own credentials come from the SDK's provider chain.",
            { absent: 'no cloud credentials' },
          ),
        ),
      endpoint: stsAddress.optional().meta(
        about(
          '0.1',
          'https://vpce-1.sts.eu-central-1.vpce.amazonaws.com',
          'Another endpoint of STS, e.g. of a private link.',
          {
            absent: "the region's own",
          },
        ),
      ),
      timeoutMs: z
        .int()
        .min(100)
        .max(9500)
        .default(5000)
        .meta(about('0.1', 3000, 'Timeout of an attempt, including the connection; at most two are made.')),
    })
    .prefault({})
    .meta({ description: 'Temporary credentials of AWS.' }),
});
