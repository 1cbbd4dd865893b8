import { existsSync, readFileSync } from 'node:fs';
import { type Clock, epochSeconds, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { replaceFile } from '@signet/policy-engine/internal/files';
import { Command, Option } from 'commander';
import { type RevocationReason, revocationReasons } from '../model/certificate-store.ts';
import { certificatesInPem, readCertificate } from '../x509/certificate-reader.ts';
import { buildCrl, crlBackdateSeconds, crlToPem, nextCrlNumber } from '../x509/crl.ts';
import { crlFromFile, entriesOf, isCrlOf, type ReadCrl, readCrl } from '../x509/crl-reader.ts';
import type { Issuer } from '../x509/issuer.ts';
import { issuerFromPem } from '../x509/issuer-files.ts';
import { parseDays } from './ca/days.ts';
import { intermediateCommand, requestCommand, rootCommand } from './ca/new-authority.ts';
import { listCommand, retireCommand } from './ca/retire.ts';
import { rolloverCommand } from './ca/rollover.ts';
import { openPrivateKey } from './passphrase.ts';
import { action, print, UsageError } from './run.ts';
import { whileAlone } from './while-alone.ts';

interface RootListOptions {
  readonly certificate: string;
  readonly key: string;
  readonly passphraseFile?: string;
  readonly out: string;
  readonly revoke: readonly string[];
  readonly reason: RevocationReason;
  readonly days?: number;
  readonly json?: boolean;
}

/** `signet ca root | root-crl | intermediate`, where the key of the root is, and `request | rollover | retire | list` on a server. */
export function caCommand(): Command {
  const rootCrl = new Command('root-crl')
    .description('create or renew the revocation list of a root; run this where the root key is')
    .requiredOption('--certificate <file>', 'certificate of the root, PEM')
    .requiredOption('--key <file>', 'private key of the root, PEM')
    .option('--passphrase-file <file>', 'file with the passphrase of the key (default: prompt on a terminal)')
    .requiredOption('--out <file>', 'file of the list, PEM; existing entries stay')
    .option('--revoke <what...>', 'certificates to revoke: PEM files, or hexadecimal serial numbers', [])
    .addOption(new Option('--reason <reason>', 'why').choices(revocationReasons).default('unspecified'))
    .option('--days <number>', 'validity of the list in days (default: until the root expires)', parseDays)
    .option('--json', 'print JSON')
    .action(action(async (options: RootListOptions) => print(await renewRootList(options, systemClock), options.json)));
  return new Command('ca')
    .description('create root and issuing authorities, replace them, and revoke their certificates')
    .addCommand(rootCommand())
    .addCommand(rootCrl)
    .addCommand(intermediateCommand())
    .addCommand(requestCommand())
    .addCommand(rolloverCommand())
    .addCommand(retireCommand())
    .addCommand(listCommand());
}

/** Writes the list of a root with what was revoked before and now. */
export async function renewRootList(options: RootListOptions, clock: Clock): Promise<Record<string, unknown>> {
  const key = await openPrivateKey(options.key, readFileSync(options.key, 'utf8'), options.passphraseFile);
  const root = issuerFromPem(readFileSync(options.certificate, 'utf8'), key);
  // Exclusive: of two at once, the second one would write a list without the first one's revocation.
  return await whileAlone(options.out, () => renewListOf(root, options, clock));
}

async function renewListOf(root: Issuer, options: RootListOptions, clock: Clock): Promise<Record<string, unknown>> {
  const before = existsSync(options.out) ? ownList(options.out, root) : undefined;
  const known = before === undefined ? [] : entriesOf(before);
  const now = epochSeconds(clock);
  const serials = new Set(options.revoke.map((what) => serialOf(what, root)));
  for (const { serial } of known) serials.delete(serial);
  const nextUpdate = Math.min(root.notAfter, now + (options.days ?? Number.POSITIVE_INFINITY) * 86_400);
  if (nextUpdate <= now) throw new UsageError('the root has expired');
  const number = nextCrlNumber(before?.number ?? 0n, now);
  const list = await buildCrl(root, {
    kept: known.map(({ element }) => element),
    revoked: [...serials].map((serial) => ({ serial, revokedAt: now, reason: options.reason })),
    number,
    thisUpdate: now - crlBackdateSeconds,
    nextUpdate,
  });
  await replaceFile(options.out, await crlToPem(list), { mode: 0o644 });
  const revoked = [...known.map(({ serial }) => serial), ...serials];
  return {
    list: options.out,
    root: root.id,
    number: String(number),
    revoked,
    nextUpdate: formatTimestamp(nextUpdate * 1000),
  };
}

/** Throws `UsageError`: a list of another root is not written over. */
function ownList(file: string, root: Issuer): ReadCrl {
  const list = readCrl(crlFromFile(readFileSync(file)));
  if (isCrlOf(list, root)) return list;
  throw new UsageError(`\`${file}\` is the list of another authority: it was not overwritten`);
}

/** The serial number of a certificate in a file, which this root must have signed, or one that is written out. Throws `UsageError`. */
function serialOf(what: string, root: Issuer): string {
  if (existsSync(what)) {
    const [der = Buffer.alloc(0)] = certificatesInPem(readFileSync(what, 'utf8'));
    const certificate = readCertificate(der);
    if (certificate.issuer.equals(root.name)) return certificate.serial;
    throw new UsageError(`\`${what}\` is not a certificate of this root`);
  }
  const serial = what
    .replaceAll(':', '')
    .toLowerCase()
    .replace(/^(00)+(?=.)/, '');
  if (!/^[0-9a-f]{1,40}$/.test(serial)) throw new UsageError(`\`${what}\` is neither a file nor a serial number`);
  return serial.length % 2 === 0 ? serial : `0${serial}`;
}
