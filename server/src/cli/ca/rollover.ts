import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseDomainName, parseServiceName } from '@signet/policy-engine/names';
import { Command } from 'commander';
import { namingRulesOf } from '../../compose/compose-identity.ts';
import type { ServerConfig } from '../../config/config.ts';
import type { IssuersEdit } from '../../config/edit-issuers.ts';
import { issuerPlaces } from '../../config/options/certificate-options.ts';
import { ConflictError } from '../../errors.ts';
import { altNamesOf, certificatesInPem, readCertificate } from '../../x509/certificate-reader.ts';
import type { Issuer } from '../../x509/issuer.ts';
import { issuerFromPem } from '../../x509/issuer-files.ts';
import { serviceSpiffeId } from '../../x509/naming.ts';
import type { AltName } from '../../x509/subject-alt-names.ts';
import { lostNames, type NamesToIssue, type Succession, successorFaults } from '../../x509/successor.ts';
import { action, configPathOf, print, warn } from '../run.ts';
import { UsageError } from '../usage-error.ts';
import { type KnownIssuers, outstandingOf, readIssuers, signingIssuer, timeOf } from './configured-issuers.ts';
import { changeIssuers, pathInConfig } from './write-config.ts';

interface RolloverOptions {
  readonly certificate: string;
  readonly key: string;
  readonly prepare?: boolean;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** `signet ca rollover`: another authority signs. */
export function rolloverCommand(): Command {
  return new Command('rollover')
    .description(
      'issue new certificates with another authority; previous authorities only publish their revocation lists',
    )
    .requiredOption(
      '--certificate <file>',
      'certificate of the authority with its chain, without the root, PEM; the file is not copied',
    )
    .requiredOption('--key <file>', 'private key of the authority, PEM; the file is not copied')
    .option(
      '--prepare',
      'only publish its revocation list, so that verifiers of whole chains have it before it issues certificates',
    )
    .option('--dry-run', 'check and show what would change, without changing it')
    .option('--json', 'print JSON')
    .action(
      action(async (options: RolloverOptions, command: Command) => {
        print(await rollOver(options, await readIssuers(configPathOf(command))), options.json);
      }),
    );
}

/** Checks the authority, and writes the configuration in which it signs. Throws `UsageError`, `ConflictError`, `IssuerError`. */
export async function rollOver(options: RolloverOptions, known: KnownIssuers): Promise<Record<string, unknown>> {
  const { config } = known;
  const issuer = readSuccessor(options);
  const faults = successorFaults(issuer, successionOf(known));
  if (faults.length > 0) throw new UsageError(`\`${options.certificate}\` cannot sign here: ${faults.join('; ')}`);
  const before = signingIssuer(known);
  await changeIssuers(config, editOf(options, known, issuer), options.dryRun === true);
  warnOf(issuer, before?.issuer, config);
  const done = {
    issuer: issuer.id,
    state: options.prepare === true ? 'prepared' : 'signing',
    notAfter: timeOf(issuer.notAfter),
  };
  if (options.prepare === true) return { ...done, next: prepared };
  const drained = known.configured.filter((each) => each.state === 'active' && each.issuer.id !== issuer.id);
  const lastEnd = Math.max(0, ...drained.map((each) => outstandingOf(known, each.issuer.id).lastEnd));
  return { ...done, draining: drained.map((each) => each.issuer.id), drainingUntil: timeOf(lastEnd), next: rolled };
}

const prepared =
  'restart the servers one after the other; when all verifiers have fetched /crl/chain, run this again without --prepare';
const rolled =
  'restart the servers one after the other; when `signet ca list` shows no certificate of the previous issuer, run `signet ca retire`';

/** Throws `IssuerError`, `UsageError`. */
function readSuccessor({ certificate, key }: RolloverOptions): Issuer {
  if (process.getuid !== undefined && (statSync(key).mode & 0o077) !== 0) {
    throw new UsageError(`\`${key}\` can be read by others: its mode must be 0600 or 0400`);
  }
  return issuerFromPem(readFileSync(certificate, 'utf8'), readFileSync(key, 'utf8'));
}

/** Throws `ConflictError` where there is nothing to change. */
function editOf(options: RolloverOptions, known: KnownIssuers, { id }: Issuer): IssuersEdit {
  const { config, configured } = known;
  const there = configured.find(({ issuer }) => issuer.id === id);
  const entry = { certificate: pathInConfig(config, options.certificate), key: pathInConfig(config, options.key) };
  if (there === undefined) {
    if (configured.length >= issuerPlaces)
      throw new ConflictError('certificates.issuers is full: remove an issuer with `signet ca retire`');
    return options.prepare === true ? { kind: 'add', entry } : { kind: 'lead', entry };
  }
  if (there.certificate !== resolve(options.certificate)) {
    throw new ConflictError(`the issuer is already configured, with the certificate \`${there.certificate}\``);
  }
  if (options.prepare === true) throw new ConflictError('the issuer is already configured');
  if (there.index === signingIssuer(known)?.index) throw new ConflictError('the issuer is already active');
  return { kind: 'lead', entry: there.index };
}

function successionOf({ config, now }: KnownIssuers): Succession {
  const { certificates, tls } = config;
  const files = { 'certificates.roots': certificates.roots, 'tls.clientCa': tls.clientCa };
  return {
    now,
    longestLife: Math.max(certificates.serviceMaxExpirySeconds, certificates.roleMaxExpirySeconds),
    roots: Object.entries(files).map(([option, file]) => ({ option, pem: readFileSync(file, 'utf8') })),
    names: [...namesOfServices(config), ...(tls.renew ? [namesOfServer(config)] : [])],
  };
}

/** Names that every certificate of a service may carry. */
function namesOfServices(config: ServerConfig): readonly NamesToIssue[] {
  const rules = namingRulesOf(config);
  const { dnsSuffix, dnsSuffixes } = config.certificates;
  const id = serviceSpiffeId(rules, parseDomainName('sys.auth'), parseServiceName('server'));
  const dns = [dnsSuffix, ...dnsSuffixes].map(
    (suffix): AltName => ({ kind: 'dns', value: `server.sys-auth.${suffix}` }),
  );
  const mail = dnsSuffixes.map((suffix): AltName => ({ kind: 'email', value: `sys.auth.server@${suffix}` }));
  return [{ commonName: 'sys.auth.server', altNames: [{ kind: 'uri', value: id }, ...dns, ...mail] }];
}

/** Names of the server's own certificate, which is renewed with the same ones. */
function namesOfServer({ tls }: ServerConfig): NamesToIssue {
  const [leaf = Buffer.alloc(0)] = certificatesInPem(readFileSync(tls.certificate, 'utf8'));
  return { commonName: '', altNames: altNamesOf(readCertificate(leaf)) };
}

function warnOf(issuer: Issuer, before: Issuer | undefined, { crl }: ServerConfig): void {
  const lost = before === undefined ? [] : lostNames(before, issuer);
  if (lost.length > 0) warn(`the previous authority may certify names that this one may not: ${lost.join(', ')}`);
  if (crl.roots.length === 0)
    warn('crl.roots is not set: verifiers of whole chains get no revocation list of the root');
}
