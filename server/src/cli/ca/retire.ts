import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { formatTimestamp } from '@signet/policy-engine/clock';
import { Command } from 'commander';
import { ConflictError } from '../../errors.ts';
import { action, configPathOf, print, warn } from '../run.ts';
import {
  type ConfiguredIssuer,
  findIssuer,
  type KnownIssuers,
  outstandingOf,
  readIssuers,
  signingIssuer,
  timeOf,
} from './configured-issuers.ts';
import { changeIssuers } from './write-config.ts';

/** `signet ca list`. */
export function listCommand(): Command {
  return new Command('list')
    .description('list the configured issuers, with the number of valid certificates of each')
    .option('--json', 'print JSON')
    .action(
      action(async ({ json }: { json?: boolean }, command: Command) => {
        print(listIssuers(await readIssuers(configPathOf(command))), json);
      }),
    );
}

/** Issuers of the configuration, and those that it does not name any more. */
export function listIssuers(known: KnownIssuers): readonly Record<string, unknown>[] {
  return [...configuredRows(known), ...forgottenRows(known)];
}

function configuredRows(known: KnownIssuers): readonly Record<string, unknown>[] {
  const signing = signingIssuer(known);
  return known.configured.map(({ issuer, state, certificate }) => {
    const { count, lastEnd } = outstandingOf(known, issuer.id);
    return {
      issuer: issuer.id,
      state: issuer.id === signing?.issuer.id ? 'signing' : state === 'active' ? 'prepared' : state,
      notAfter: timeOf(issuer.notAfter),
      certificates: count,
      lastEnd: timeOf(lastEnd),
      file: certificate,
    };
  });
}

/** Issuers in the store that the configuration does not name. */
function forgottenRows({ configured, outstanding }: KnownIssuers): readonly Record<string, unknown>[] {
  const ids = configured.map(({ issuer }) => issuer.id);
  return outstanding
    .filter(({ issuer }) => !ids.includes(issuer))
    .map(({ issuer, count, lastEnd }) => ({
      issuer,
      state: 'not configured',
      notAfter: null,
      certificates: count,
      lastEnd: timeOf(lastEnd),
      file: null,
    }));
}

interface RetireOptions {
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** `signet ca retire`: an authority that was followed by another one leaves the configuration. */
export function retireCommand(): Command {
  return new Command('retire')
    .description('remove a draining issuer from the configuration after all its certificates have expired')
    .argument('<issuer>', 'ID of the issuer, or a prefix of it; see `signet ca list`')
    .option('--force', 'retire it although certificates are valid; verifiers of whole chains will refuse them')
    .option('--dry-run', 'check and show what would change, without changing it')
    .option('--json', 'print JSON')
    .action(
      action(async (id: string, options: RetireOptions, command: Command) => {
        print(await retire(id, options, await readIssuers(configPathOf(command))), options.json);
      }),
    );
}

/** Writes the configuration without the issuer. Throws `ConflictError`, `NotFoundError`. */
export async function retire(
  id: string,
  options: RetireOptions,
  known: KnownIssuers,
): Promise<Record<string, unknown>> {
  const found = findIssuer(known, id);
  refuseToRetire(known, found, options);
  await changeIssuers(known.config, { kind: 'remove', index: found.index }, options.dryRun === true);
  const next = 'restart the servers one after the other; then destroy its private key';
  return { retired: found.issuer.id, file: found.certificate, next };
}

/** Throws `ConflictError`. */
function refuseToRetire(known: KnownIssuers, { state, issuer }: ConfiguredIssuer, { force }: RetireOptions): void {
  if (state !== 'draining')
    throw new ConflictError('the issuer is not draining: run `signet ca rollover` to another one first');
  const { count, lastEnd } = outstandingOf(known, issuer.id);
  const reasons = [
    ...(count > 0
      ? [`${count} of its certificates are valid, the last one until ${formatTimestamp(lastEnd * 1000)}`]
      : []),
    ...serverCertificateReason(known, issuer.chainPem),
  ];
  if (reasons.length === 0) return;
  const broken = 'verifiers of whole chains refuse them without its revocation list';
  if (force !== true) throw new ConflictError(`${reasons.join('; ')}: ${broken} (use --force to retire it anyway)`);
  for (const reason of reasons) warn(`${reason}: ${broken}`);
}

/** Reasons by the server's certificate: the one in use counts, which it may have renewed by itself. */
function serverCertificateReason({ config, now }: KnownIssuers, chainPem: string): readonly string[] {
  const { certificate } = config.tls;
  const leaf = new X509Certificate(readFileSync(certificate));
  const ends = leaf.validToDate.getTime();
  if (ends < now * 1000 || !leaf.verify(new X509Certificate(chainPem).publicKey)) return [];
  return [
    `the certificate of the server, \`${certificate}\`, was issued by it and is valid until ${formatTimestamp(ends)}`,
  ];
}
