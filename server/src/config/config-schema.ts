import { maxSuffixLength } from '@signet/policy-engine/names';
import { z } from 'zod';
import { sshExtensions } from '../ssh/ssh-profile.ts';
import { parseHost } from './store-place.ts';

const seconds = (minimum: number, maximum: number) => z.int().min(minimum).max(maximum);
const day = 86_400;
const hostGrammar = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

/** Below it every instance has a name, whatever its id. */
const suffix = z.string().max(maxSuffixLength).regex(hostGrammar, 'must be a lower-case host name');

/** An address that others use: `https`, no user, no query and no fragment (RFC 8414 §2 for the issuer). */
const httpsAddress = z.string().refine((text) => {
  const url = URL.parse(text);
  return (
    url?.protocol === 'https:' && url.search === '' && url.hash === '' && url.username === '' && url.password === ''
  );
}, 'must be an https address without user, query and fragment');

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

/** Addresses and networks (CIDR). */
const addresses = z.array(z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])).default([]);

/**
 * A budget of a group in each process: milliseconds of processor time for each second (as counted: docs/decisions/026), how much of it at
 * once, and requests in flight. `share`: what one member may take of each of the three.
 */
const groupBudget = (defaults: { workMsPerSecond: number; burstMs: number; inFlight: number; share: number }) =>
  z
    .strictObject({
      workMsPerSecond: z.number().min(1).max(1_000_000).default(defaults.workMsPerSecond),
      burstMs: z.number().min(100).max(10_000_000).default(defaults.burstMs),
      inFlight: z.int().min(1).max(1_000_000).default(defaults.inFlight),
      share: z.number().min(0.001).max(1).default(defaults.share),
    })
    .prefault({});

/** `https`, or `http` on this machine. */
const stsAddress = z.string().refine((text) => {
  const url = URL.parse(text);
  const isLocal = url?.protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  return url?.protocol === 'https:' || isLocal;
}, 'must be an https address');

/* What the names of each kind can hold: those of domains dots as well, ids most of what there is. */
const holds: Readonly<Record<string, RegExp>> = {
  domain: /[a-z0-9_.-]/i,
  service: /[a-z0-9_-]/i,
  instanceId: /[a-z0-9\\._~=+@$,:-]/i,
};

/**
 * Whether a filled template can be read in one way only: from one of its ends, each name stops at a character that it cannot hold. Else
 * `a-b` and `c` could be `a` and `b-c`.
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

/** What `sub` must be. Without the names of both, or where they run together, a token for one service would attest another one. */
const subjectTemplate = z
  .string()
  .min(1)
  .refine((text) => text.includes('{domain}') && text.includes('{service}'), 'must hold `{domain}` and `{service}`')
  .refine(
    tellsNamesApart,
    'must part its names by a character that one of them cannot hold, e.g. `/`, or as `{domain}.{service}`',
  );

/** Every option of the server, with its default where it has one. Paths are relative to the file that names them. */
export const configSchema = z.strictObject({
  /** `signet` follows `docs/reference`, `athenz` serves unmodified clients of Athenz. */
  profile: z.enum(['signet', 'athenz']).default('signet'),
  listen: z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1'),
      port: z.int().min(0).max(65_535).default(4443),
      /** Balancers whose connections begin with a PROXY protocol v2 header: that header is required from them and taken from nobody else. */
      proxyProtocolFrom: addresses,
      /** Whether other servers of this user on this machine may listen on the same ports beside this one (`SO_REUSEPORT`). */
      reusePort: z.boolean().default(false),
    })
    .prefault({}),
  /** What clients call; its path is the base path. Default: `https://<host>:<port>` and the profile's base path. */
  baseUrl: httpsAddress.optional(),
  /** `iss` of the tokens. Default: `baseUrl`. */
  issuer: httpsAddress.optional(),
  dataDir: z.string().min(1).default('data'),
  /** Where domains, keys, certificates and instances are: a file of SQLite in `dataDir`, or a PostgreSQL database. */
  store: z
    .strictObject({
      kind: z.enum(['sqlite', 'postgres']).default('sqlite'),
      /**
       * What a server does that finds another history in the store than it knew, as after a failover that lost changes: `warn` in its log and
       * in `/readyz` until `signet store new-epoch` is run, or run it by itself.
       */
      onDivergence: z.enum(['warn', 'new-epoch']).default('warn'),
      postgres: z
        .strictObject({
          /** `host:port`, `[address]:port`, or the folder of a socket: the one that is not a standby is used. */
          hosts: z
            .array(
              z.string().refine((text) => parseHost(text) !== undefined, 'must be host:port or the folder of a socket'),
            )
            .max(16)
            .default([]),
          database: z.string().min(1).max(63).default('signet'),
          user: z.string().min(1).max(63).default('signet'),
          /** A password never stands in the configuration itself. */
          passwordFile: z.string().min(1).optional(),
          /** PEM, to log in with a certificate. */
          certificate: z.string().min(1).optional(),
          key: z.string().min(1).optional(),
          /** PEM, what the certificate of the database must chain to. Default: what this machine trusts. */
          ca: z.string().min(1).optional(),
          /** Connections of each process. */
          poolSize: z.int().min(2).max(100).default(8),
          statementTimeoutMs: z.int().min(100).max(600_000).default(5000),
          connectTimeoutMs: z.int().min(100).max(60_000).default(2000),
          /** Whether changes are told to the other servers at once: one connection more, never through a pooler of transactions. */
          listen: z.boolean().default(true),
          /** `manual`: the schema is brought up to date by `signet store migrate` only. */
          migrate: z.enum(['auto', 'manual']).default('auto'),
        })
        .prefault({}),
    })
    .prefault({}),
  tls: z.strictObject({
    certificate: z.string().min(1),
    key: z.string().min(1),
    /** PEM certificates that client certificates must chain to. */
    clientCa: z.string().min(1),
    /** Whether the server replaces its certificate in time by one of its own issuers, with the same names. */
    renew: z.boolean().default(false),
  }),
  /** Processes that share the port. */
  workers: z.int().min(1).max(256).default(1),
  /** Opens the public keys and the metadata to callers without a certificate. Default: as the profile says. */
  anonymousKeys: z.boolean().optional(),
  tokens: z
    .strictObject({
      defaultExpirySeconds: seconds(1, 30 * day).default(7200),
      /**
       * The longest life of an access token. Default: two hours, or up to 30 days where a limit of the domain or of the role says so; one
       * that is set here holds whatever they say.
       */
      maxExpirySeconds: seconds(1, 30 * day).optional(),
      /** Whether tokens carry the thumbprint of the caller's certificate (RFC 8705). */
      bound: z.boolean().default(true),
      idTokens: z.boolean().default(true),
    })
    .prefault({}),
  certificates: z
    .strictObject({
      /** Authorities that sign; the first active one that is valid signs what is new. Without any, no certificates are issued. */
      issuers: z
        .array(
          z.strictObject({
            /** PEM: its certificate, followed by those up to the root. */
            certificate: z.string().min(1),
            key: z.string().min(1),
            /** `draining`: it signs no new certificates, its revocation list goes on. */
            state: z.enum(['active', 'draining']).default('active'),
          }),
        )
        .max(8)
        .default([]),
      /** PEM roots that issued certificates chain to. Default: `tls.clientCa`. */
      roots: z.string().min(1).optional(),
      /** Host of the SPIFFE ids. */
      trustDomain: suffix.default('signet.local'),
      /** End of the DNS names that this server gives by itself. Default: `trustDomain`. */
      dnsSuffix: suffix.optional(),
      /**
       * Profile `athenz`: suffixes below which a service has the name `<service>.<domain with dashes>.<suffix>`, and a principal the mail
       * address `<principal>@<suffix>`, in its certificates. Default: `dnsSuffix` and `athenz.cloud`.
       */
      dnsSuffixes: z.array(suffix).min(1).max(16).optional(),
      serviceExpirySeconds: seconds(60, 398 * day).default(30 * day),
      serviceMaxExpirySeconds: seconds(60, 398 * day).default(30 * day),
      roleExpirySeconds: seconds(60, 30 * day).default(30 * day),
      roleMaxExpirySeconds: seconds(60, 30 * day).default(30 * day),
      /** How long a revocation list is good for; it is reissued after half of that. */
      crlLifetimeSeconds: seconds(600, 30 * day).default(day),
      /** How often the files of the issuers are looked at. */
      reloadIntervalMs: z.int().min(100).max(3_600_000).default(5000),
    })
    .prefault({}),
  crl: z
    .strictObject({
      /** Revocation lists of the roots, DER or PEM; `signet ca root-crl` makes them where the key of the root is. */
      roots: z.array(z.string().min(1)).max(8).default([]),
      /** How long a cache may answer a list without asking again; never past the end of the list. */
      maxAgeSeconds: seconds(0, day).default(60),
      /** Where those who read certificates find the list, e.g. `http://pki.example/v1/crl/{issuer}`. */
      distributionPoints: z.array(distributionPoint).max(4).default([]),
      /** Plain HTTP that serves the revocation lists and the certificates of the authorities, and nothing else; without a port there is none. */
      listen: z
        .strictObject({
          host: z.string().min(1).default('127.0.0.1'),
          port: z.int().min(0).max(65_535).optional(),
        })
        .prefault({}),
    })
    .prefault({}),
  instances: z
    .strictObject({
      joinTokens: z
        .strictObject({
          /** The provider whose instances register with join tokens of this server. */
          provider: z.string().min(1).default('sys.auth.server'),
          lifetimeSeconds: seconds(1, 7 * day).default(1800),
        })
        .prefault({}),
      /** Providers that are attested by the signed tokens of an issuer. */
      jwtIssuers: z
        .array(
          z.strictObject({
            provider: z.string().min(1),
            issuer: z.string().min(1),
            audience: z.string().min(1),
            /** What `sub` must be, with `{domain}`, `{service}` and `{instanceId}`. */
            subject: subjectTemplate,
            claims: z.record(z.string().min(1), z.string()).default({}),
            /** A JWK set. */
            keysFile: z.string().min(1).optional(),
            keysUrl: httpsAddress.optional(),
            maxAgeSeconds: seconds(1, 30 * day).default(day),
          }),
        )
        .default([]),
      /** Addresses and networks that no certificate of an instance holds, beside those of this machine: balancers and proxies. */
      reservedAddresses: addresses,
      callOut: z
        .strictObject({
          /** Host names, `*.suffix`, addresses and networks of provider endpoints that may be called. */
          allow: z.array(z.string().min(1)).default([]),
          timeoutMs: z.int().min(100).max(9500).default(8000),
        })
        .prefault({}),
    })
    .prefault({}),
  snapshot: z.strictObject({ refreshIntervalMs: z.int().min(50).max(60_000).default(2000) }).prefault({}),
  bundles: z
    .strictObject({
      lifetimeSeconds: seconds(3600, 90 * day).default(7 * day),
      /** How long a cache may answer a bundle without asking again. */
      maxAgeSeconds: seconds(0, 3600).default(30),
    })
    .prefault({}),
  keys: z
    .strictObject({
      /** How long a cache may keep the public keys. */
      maxAgeSeconds: seconds(0, day).default(300),
      /** How long a new key is published before it signs. */
      prepublishSeconds: seconds(0, 30 * day).default(3600),
      /** Where private halves are: in files below `dataDir`, or in the store, sealed with the key in `sealingKeyFile`. */
      storage: z.enum(['files', 'store']).default('files'),
      /** 32 random bytes, as they are or in base64; the same for every server of the store. */
      sealingKeyFile: z.string().min(1).optional(),
      /** Earlier ones, which open what `signet keys reseal` has not sealed with the present one yet. */
      previousSealingKeyFiles: z.array(z.string().min(1)).max(8).default([]),
    })
    .prefault({}),
  management: z
    .strictObject({
      /** Whether the management API is served, under `/management/v1`. */
      enabled: z.boolean().default(true),
      /** Serve nothing but the management API and the health endpoints. */
      alone: z.boolean().default(false),
      /** At most how many of each a domain may have that has no quotas of its own. */
      quotas: z
        .strictObject({
          roles: z.int().min(1).default(10_000),
          members: z.int().min(1).default(100_000),
          groups: z.int().min(1).default(10_000),
          policies: z.int().min(1).default(2000),
          assertions: z.int().min(1).default(20_000),
          services: z.int().min(1).default(10_000),
          keys: z.int().min(1).default(10_000),
        })
        .prefault({}),
    })
    .prefault({}),
  accessChecks: z
    .strictObject({
      /** Ask about another principal only with `access_check` on `<domain>:principal.<principal>`. */
      restricted: z.boolean().default(false),
    })
    .prefault({}),
  ssh: z
    .strictObject({
      /** PEM private keys (Ed25519 or P-256) that sign SSH certificates of hosts and of users. Absent: none are issued. */
      hostAuthority: z.string().min(1).optional(),
      userAuthority: z.string().min(1).optional(),
      hostExpirySeconds: seconds(60, 90 * day).default(30 * day),
      userExpirySeconds: seconds(60, 7 * day).default(3600),
      /** The domain whose policy grants logins that name no domain: `ssh_login` on `<domain>:ssh.<login>`. */
      loginDomain: z
        .string()
        .regex(/^[a-z0-9_][a-z0-9_-]*(\.[a-z0-9_][a-z0-9_-]*)*$/)
        .default('sys.auth'),
      /** What user certificates permit. */
      extensions: z.array(z.enum(sshExtensions)).default(['permit-pty']),
      /** Networks (CIDR) from which user certificates are accepted; empty: from anywhere. */
      sourceAddresses: z.array(z.union([z.cidrv4(), z.cidrv6()])).default([]),
      /** Runs instead of what the user asks for. */
      forceCommand: z
        .string()
        .min(1)
        .max(1024)
        .regex(/^\P{Cc}*$/u)
        .optional(),
    })
    .prefault({}),
  cloud: z
    .strictObject({
      aws: z
        .strictObject({
          /** Region whose STS hands out role sessions. Absent: no cloud credentials. The server's own come from the SDK's usual places. */
          region: z
            .string()
            .regex(/^[a-z]{2,}(-[a-z0-9]+)+$/, 'must be a region, e.g. eu-central-1')
            .optional(),
          /** Another endpoint than the region's own, e.g. of a private link. */
          endpoint: stsAddress.optional(),
          /** For one attempt, connecting included; at most two are made. */
          timeoutMs: z.int().min(100).max(9500).default(5000),
        })
        .prefault({}),
    })
    .prefault({}),
  limits: z
    .strictObject({
      urlBytes: z.int().min(256).max(65_536).default(8192),
      headerBytes: z.int().min(1024).max(65_536).default(16_384),
      bodyBytes: z.int().min(1024).max(1_048_576).default(65_536),
      /** For bodies that carry certificate requests and for management. */
      largeBodyBytes: z.int().min(1024).max(16_777_216).default(1_048_576),
      /** Requests without an answer on one connection. */
      connectionRequests: z.int().min(1).max(10_000).default(100),
      /** Bodies and unread answers of one connection: with more of them no further request is taken. */
      connectionBytes: z.int().min(65_536).max(1_073_741_824).default(16_777_216),
      /** The same of one principal, whatever its connections. */
      principalBytes: z.int().min(65_536).max(4_294_967_296).default(134_217_728),
    })
    .prefault({}),
  budgets: z
    .strictObject({
      /** Whether callers that take too much of a process are refused (429). */
      enabled: z.boolean().default(true),
      /** Of each principal; its members are its certificates. */
      principal: groupBudget({ workMsPerSecond: 700, burstMs: 60_000, inFlight: 640, share: 0.5 }),
      /** Of all callers without a certificate together, their handshakes included; its members are their addresses (IPv6: /64). */
      strangers: groupBudget({ workMsPerSecond: 600, burstMs: 60_000, inFlight: 512, share: 0.5 }),
      /** Addresses that many clients have (NAT, balancers without the PROXY protocol): each has the budget of `strangers` to itself. */
      sharedAddresses: addresses,
      /** How long a refusal is held back, so that who asks in a loop is slowed down. */
      refusalDelayMs: z.int().min(0).max(5000).default(1000),
    })
    .prefault({}),
  timeouts: z
    .strictObject({
      /** For the TLS handshake, then for all headers of a request, then for the whole request. */
      requestMs: z.int().min(1000).max(120_000).default(20_000),
      /** How long a client may read nothing of an answer, and how long it may take for the whole. */
      stallMs: z.int().min(1000).max(600_000).default(30_000),
      answerMs: z.int().min(1000).max(3_600_000).default(300_000),
      /** How long an idle connection is kept. */
      keepAliveMs: z.int().min(1000).max(3_600_000).default(120_000),
      /** How long requests in flight may take after the order to stop, from when the port is closed. */
      drainMs: z.int().min(0).max(60_000).default(9000),
    })
    .prefault({}),
  shutdown: z
    .strictObject({
      /** How long the port stays open after the order to stop, while `/readyz` says 503: as long as balancers take to notice. */
      delaySeconds: seconds(0, 300).default(0),
    })
    .prefault({}),
  log: z
    .strictObject({
      level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
      /** Whether each request answered below 500 is a line at level `info`. */
      requests: z.boolean().default(true),
    })
    .prefault({}),
});

/** The options as written, defaults filled in. */
export type ConfigValues = z.output<typeof configSchema>;

/** The dotted path of every option, e.g. `tokens.bound`. */
export const optionPaths: readonly string[] = leafPaths(configSchema, '');

function leafPaths(schema: z.ZodType, prefix: string): string[] {
  const inner = schema instanceof z.ZodPrefault ? schema.unwrap() : schema;
  if (!(inner instanceof z.ZodObject)) return [prefix.slice(0, -1)];
  return Object.entries(inner.shape).flatMap(([key, value]) => leafPaths(value as z.ZodType, `${prefix}${key}.`));
}
