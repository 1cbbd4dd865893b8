import { randomBytes } from 'node:crypto';
import { type Clock, epochSeconds, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { openIssuers } from '../certificates/issuers.ts';
import {
  isNearItsEnd,
  readServerCertificate,
  renewServerCertificate,
  settleServerKey,
} from '../certificates/renew-server-certificate.ts';
import type { ServerConfig } from '../config/config.ts';
import type { Logger } from '../logger.ts';
import { openSqliteStore } from '../store/sqlite/open.ts';

const lookMs = 3_600_000;
/** After a failure. There is a third of the certificate's life for it. */
const retryMs = 600_000;

/**
 * Looks after the server's own certificate from now on, before the server reads it and then every hour: near its end it is replaced, or, when
 * that is not configured, a warning says so. Failures are said and tried again. Never throws.
 */
export async function keepServerCertificate(
  config: ServerConfig,
  logger: Logger,
  clock: Clock = systemClock,
): Promise<Disposable> {
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const look = async (): Promise<void> => {
    const isFine = await lookAfter(config, logger, clock);
    if (!isClosed) timer = setTimeout(() => void look(), isFine ? lookMs : retryMs).unref();
  };
  await look();
  return {
    [Symbol.dispose]: () => {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

async function lookAfter(config: ServerConfig, logger: Logger, clock: Clock): Promise<boolean> {
  const { certificate, renew } = config.tls;
  try {
    if (renew) await settleServerKey(config.tls);
    const life = await readServerCertificate(certificate);
    if (!isNearItsEnd(life, epochSeconds(clock))) return true;
    const notAfter = formatTimestamp(life.notAfter * 1000);
    if (renew) await renewNow(config, clock);
    if (renew) logger.info({ certificate }, 'server certificate renewed');
    else logger.warn({ certificate, notAfter }, 'server certificate ends soon and is not renewed by the server');
    return true;
  } catch (error) {
    logger.error({ certificate, error: String(error) }, 'server certificate cannot be looked after, tried again later');
    return false;
  }
}

async function renewNow(config: ServerConfig, clock: Clock): Promise<void> {
  const { issuers: sources, roots, reloadIntervalMs } = config.certificates;
  const issuers = await openIssuers({ sources, roots, reloadIntervalMs, onError: () => undefined });
  try {
    const store = await openSqliteStore(config.storeFile, { clock });
    try {
      const { certificates } = store;
      await renewServerCertificate({ files: config.tls, issuers, certificates, clock, randomBytes });
    } finally {
      await store.close();
    }
  } finally {
    issuers.close();
  }
}
