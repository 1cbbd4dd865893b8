import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { parseDomainName } from '@signet/policy-engine/names';
import { parse } from 'yaml';
import { z } from 'zod';

/** Every option of the example provider. */
export const configSchema = z.strictObject({
  listen: z.strictObject({
    host: z.string().min(1).default('127.0.0.1'),
    /** 0: a free port. */
    port: z.int().min(0).max(65_535),
  }),
  tls: z.strictObject({
    /** PEM: this service's certificate and what leads to the root. Also shown to the token server. */
    certificate: z.string().min(1),
    key: z.string().min(1),
    /** Authorities that issue the certificates of clients, PEM. */
    clientCa: z.string().min(1),
  }),
  /** The domain whose resources this service protects. */
  domain: z.string().transform((text) => parseDomainName(text, 'domain')),
  /** Directory into which the updater writes policy. */
  policyDir: z.string().min(1),
  /** The token server, for the two centralized patterns. */
  server: z.strictObject({
    baseUrl: z.url({ protocol: /^https$/ }),
    caBundle: z.string().min(1),
    /** Expected identity of the server's certificate, as for `createClient`. */
    serverIdentity: z.string().min(1).exactOptional(),
    /** Profile of the server, as for `createClient`: it decides which header passes principal tokens on. */
    profile: z.enum(['signet', 'athenz']).default('signet'),
  }),
  /** Makes this service a provider of instances: it vouches for these machines. */
  attestation: z
    .strictObject({
      asker: z.string().min(1).default('sys.auth.server'),
      /** Our own name as a provider, `domain.service`. */
      provider: z.string().min(1),
      machines: z.record(
        z.string().min(1),
        z.strictObject({ service: z.string().min(1), secretSha256: z.string().regex(/^[0-9a-f]{64}$/) }),
      ),
    })
    .optional(),
  /** Delay before the port closes after the order to stop, while `/healthz` answers 503: as long as balancers take to notice. */
  shutdown: z.strictObject({ delaySeconds: z.int().min(0).max(300).default(0) }).prefault({}),
  log: z.strictObject({ level: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info') }).prefault({}),
});

/** The configuration: checked, complete, with absolute paths. */
export type ProviderConfig = Readonly<z.output<typeof configSchema>>;

/** Reads `provider.yaml`; relative paths are relative to it. Throws an `Error` that names every field that is wrong. */
export function loadProviderConfig(file: string): ProviderConfig {
  const path = resolve(file);
  const parsed = configSchema.safeParse(parse(readFileSync(path, 'utf8')));
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the file'}: ${issue.message}`);
    throw new Error(`configuration \`${path}\` cannot be used: ${problems.join('; ')}`);
  }
  const at = (name: string) => resolve(dirname(path), name);
  const { tls, server, policyDir, ...rest } = parsed.data;
  return {
    ...rest,
    policyDir: at(policyDir),
    tls: { certificate: at(tls.certificate), key: at(tls.key), clientCa: at(tls.clientCa) },
    server: { ...server, caBundle: at(server.caBundle) },
  };
}
