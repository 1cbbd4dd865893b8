import { randomBytes } from 'node:crypto';
import { type Clock, epochSeconds, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { issuerFilesOf, namingRulesOf } from '../compose/compose-identity.ts';
import type { ServerConfig } from '../config/config.ts';
import type { Logger } from '../logger.ts';
import { openStore } from '../store/open.ts';
import { openIssuers } from '../x509/issuers.ts';
import { isDue, isSignedBy, readServerCertificate, renewServerCertificate } from '../x509/renew-server-certificate.ts';
import { settleServerKey } from '../x509/waiting-server-key.ts';

const lookMs = 600_000;
/** A warning about the same certificate is not said more often. */
const warnMs = 86_400_000;

/**
 * Looks after the server's own certificate from now on, before the server reads it and then every ten minutes: near its end, or when its
 * issuer is draining, it is replaced, or, when that is not configured, a warning says so. Failures are said and tried again. Never throws.
 */
export async function keepServerCertificate(
  config: ServerConfig,
  logger: Logger,
  clock: Clock = systemClock,
): Promise<Disposable> {
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let warnedAt = Number.NEGATIVE_INFINITY;
  const warn = (detail: Record<string, unknown>): void => {
    if (Math.abs(clock.now() - warnedAt) < warnMs) return;
    warnedAt = clock.now();
    logger.warn(detail, 'server certificate is near or past its end, and not renewed by the server');
  };
  const look = async (): Promise<void> => {
    await lookAfter({ config, logger, clock, warn });
    if (!isClosed) timer = setTimeout(() => void look(), lookMs).unref();
  };
  await look();
  return {
    [Symbol.dispose]: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

interface LookDeps {
  readonly config: ServerConfig;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly warn: (detail: Record<string, unknown>) => void;
}

async function lookAfter({ config, logger, clock, warn }: LookDeps): Promise<void> {
  const { certificate, renew } = config.tls;
  try {
    if (renew) await settleServerKey(config.tls, clock.now());
    const life = await readServerCertificate(certificate);
    if (!isDue(life, epochSeconds(clock)) && !(renew && (await isByDrainingIssuer(config)))) return;
    if (!renew) return warn({ certificate, notAfter: formatTimestamp(life.notAfter * 1000) });
    await renewNow(config, clock);
    logger.info({ certificate }, 'server certificate renewed');
  } catch (error) {
    logger.error({ certificate, error: String(error) }, 'server certificate cannot be looked after, tried again later');
  }
}

/** An issuer that was followed by another one is to be retired when nothing of it is valid: the server does not keep it. */
async function isByDrainingIssuer({ certificates, tls }: ServerConfig): Promise<boolean> {
  const draining = certificates.issuers.filter(({ state }) => state === 'draining');
  const found = await Promise.all(draining.map((issuer) => isSignedBy(tls.certificate, issuer.certificate)));
  return found.includes(true);
}

async function renewNow(config: ServerConfig, clock: Clock): Promise<void> {
  const issuers = await openIssuers({ ...issuerFilesOf(config), onError: () => undefined });
  try {
    const store = await openStore(config.store, { clock, tellsTime: () => false });
    try {
      const { certificates } = store;
      const rules = namingRulesOf(config);
      await renewServerCertificate({ files: config.tls, issuers, certificates, rules, clock, randomBytes });
    } finally {
      await store.close();
    }
  } finally {
    issuers.close();
  }
}
