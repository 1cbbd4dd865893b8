import { epochSeconds, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { Command, Option } from 'commander';
import { loadConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { NotFoundError } from '../errors.ts';
import type { CertificateRecord, CertificateRow, CertificateStore } from '../model/certificate-store.ts';
import { type RevocationReason, revocationReasons } from '../model/certificate-store.ts';
import type { Store } from '../model/store.ts';
import { openStore } from '../store/open.ts';
import { issueLocallyCommand } from './certificate-issue.ts';
import { revokeSshCommand } from './certificate-ssh.ts';
import { localActor } from './local-user.ts';
import { action, configPathOf, print } from './run.ts';

interface CertificateOptions {
  readonly reason: RevocationReason;
  readonly json?: boolean;
}

/** `signet certificate`: what an operator does with certificates that were issued. Works on the store, also while a server runs. */
export function certificateCommand(): Command {
  const show = new Command('show')
    .description('show the record of a certificate')
    .argument('<serial>', 'serial number, hexadecimal')
    .option('--json', 'print JSON')
    .action(action(showCertificate));
  const revoke = new Command('revoke')
    .description(
      'revoke a certificate: it is added to the revocation list, and servers refuse it within their refresh interval',
    )
    .argument('<serial>', 'serial number, hexadecimal')
    .addOption(new Option('--reason <reason>', 'why').choices(revocationReasons).default('unspecified'))
    .option('--json', 'print JSON')
    .action(action(revokeCertificate));
  const orphans = new Command('orphans')
    .description('list certificates that may have been signed but not delivered because a server stopped')
    .option('--json', 'print JSON')
    .action(action(listOrphans));
  return new Command('certificate')
    .description('show, issue and revoke certificates of this server')
    .addCommand(show)
    .addCommand(issueLocallyCommand())
    .addCommand(revoke)
    .addCommand(revokeSshCommand())
    .addCommand(orphans);
}

async function withStore<Result>(
  command: Command,
  use: (certificates: CertificateStore, store: Store) => Promise<Result>,
): Promise<Result> {
  const config = loadConfig(configPathOf(command), processEnvironment());
  const store = await openStore(config.store, { clock: systemClock });
  try {
    return await use(store.certificates, store);
  } finally {
    await store.close();
  }
}

/** Serial number as `openssl` and browsers write it: with colons or without, in either case. */
function serialOf(text: string): string {
  return text.replaceAll(':', '').toLowerCase();
}

function described(row: CertificateRow): Record<string, unknown> {
  const { serial, kind, subject, holder, provider, instanceId, vouchedKey, notBefore, notAfter } = row;
  return {
    serial,
    kind,
    subject,
    holder,
    ...(provider !== undefined && { provider, instanceId }),
    ...(vouchedKey !== undefined && { vouchedKey }),
    notBefore: formatTimestamp(notBefore * 1000),
    notAfter: formatTimestamp(notAfter * 1000),
  };
}

function describedRecord(record: CertificateRecord): Record<string, unknown> {
  const { revoked } = record;
  const state =
    revoked === undefined ? record.state : `revoked ${formatTimestamp(revoked.revokedAt * 1000)} (${revoked.reason})`;
  return { ...described(record), state };
}

async function showCertificate(serial: string, options: CertificateOptions, command: Command): Promise<void> {
  const record = await withStore(command, (certificates) => certificates.find(serialOf(serial)));
  if (record === undefined) throw new NotFoundError('no certificate has this serial number');
  print(describedRecord(record), options.json);
}

async function revokeCertificate(serial: string, options: CertificateOptions, command: Command): Promise<void> {
  const by = localActor();
  const revocation = { reason: options.reason, at: epochSeconds(systemClock), by };
  const record = await withStore(command, async (certificates, store) => {
    await store.change({ actor: by, reason: options.reason }, (transaction) =>
      transaction.revokeCertificate(serialOf(serial), revocation),
    );
    return certificates.find(serialOf(serial));
  });
  if (record === undefined) throw new NotFoundError('no certificate has this serial number');
  print(describedRecord(record), options.json);
}

/** Younger intents may belong to a request under way. */
const settledSeconds = 300;

async function listOrphans(options: CertificateOptions, command: Command): Promise<void> {
  const before = epochSeconds(systemClock) - settledSeconds;
  const rows = await withStore(command, (certificates) => certificates.orphans(before));
  print(rows.map(described), options.json);
}
