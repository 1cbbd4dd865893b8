import { readFileSync } from 'node:fs';
import { epochSeconds, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { loadConfig, type ServerConfig } from '../../config/config.ts';
import { processEnvironment } from '../../config/env.ts';
import { NotFoundError } from '../../errors.ts';
import type { OutstandingCertificates } from '../../model/certificate-store.ts';
import { openStore } from '../../store/open.ts';
import type { Issuer } from '../../x509/issuer.ts';
import { issuerFromPem } from '../../x509/issuer-files.ts';
import { serverPrincipal } from '../../x509/own-identity.ts';

/** An entry of `certificates.issuers` with what its files hold. */
export interface ConfiguredIssuer {
  readonly index: number;
  readonly state: 'active' | 'draining';
  readonly issuer: Issuer;
  readonly certificate: string;
}

/** Issuers known to the commands about them. */
export interface KnownIssuers {
  readonly config: ServerConfig;
  readonly configured: readonly ConfiguredIssuer[];
  readonly outstanding: readonly OutstandingCertificates[];
  /** Seconds since the epoch. */
  readonly now: number;
}

/** Reads the configuration, the files of its issuers, and what the store has of their certificates. Throws `IssuerError`. */
export async function readIssuers(configFile: string): Promise<KnownIssuers> {
  const config = loadConfig(configFile, processEnvironment());
  const configured = config.certificates.issuers.map(({ certificate, key, state }, index) => ({
    index,
    state,
    certificate,
    issuer: issuerFromPem(readFileSync(certificate, 'utf8'), readFileSync(key, 'utf8')),
  }));
  const now = epochSeconds(systemClock);
  const store = await openStore(config.store, { clock: systemClock, readonly: true });
  try {
    return { config, configured, outstanding: await store.certificates.outstanding(now, serverPrincipal), now };
  } finally {
    await store.close();
  }
}

/** The one that signs what is new: of the active ones, the first that is valid. */
export function signingIssuer({ configured, now }: KnownIssuers): ConfiguredIssuer | undefined {
  return configured.find(({ state, issuer }) => state === 'active' && issuer.notBefore <= now && now < issuer.notAfter);
}

export function outstandingOf({ outstanding }: KnownIssuers, id: string): OutstandingCertificates {
  return outstanding.find(({ issuer }) => issuer === id) ?? { issuer: id, count: 0, lastEnd: 0 };
}

/** The issuer with this id, or with the only id that begins so. Throws `NotFoundError`. */
export function findIssuer({ configured }: KnownIssuers, id: string): ConfiguredIssuer {
  const [found, another] = configured.filter(({ issuer }) => issuer.id.startsWith(id.toLowerCase()));
  if (found !== undefined && another === undefined) return found;
  throw new NotFoundError(`issuer \`${id}\` is not in certificates.issuers: see \`signet ca list\``);
}

export function timeOf(seconds: number): string | null {
  return seconds === 0 ? null : formatTimestamp(seconds * 1000);
}
