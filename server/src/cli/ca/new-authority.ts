import { createPrivateKey, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { epochSeconds, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import { createFile } from '@signet/policy-engine/internal/files';
import { parseDomainName } from '@signet/policy-engine/names';
import { Command, Option } from 'commander';
import { serialRandomOctets } from '../../x509/build-certificate.ts';
import { firstRevocationList } from '../../x509/certificate-authority.ts';
import { parseCertificateRequest } from '../../x509/csr.ts';
import { encryptPrivateKey } from '../../x509/encrypted-key.ts';
import { issuerFromPem } from '../../x509/issuer-files.ts';
import {
  type AuthorityNames,
  authorityDays,
  authorityNames,
  authorityRequest,
  buildIntermediate,
  buildRoot,
  namesOfAuthority,
  newAuthorityKey,
} from '../../x509/new-authority.ts';
import { permittedNames } from '../init/authority.ts';
import { checkCrlUrl } from '../init.ts';
import { openPrivateKey, readPassphrase } from '../passphrase.ts';
import { action, print } from '../run.ts';
import { UsageError } from '../usage-error.ts';
import { outputFolder, refuseExisting } from '../written-output.ts';
import { parseDays } from './days.ts';

interface OutOptions {
  readonly out: string;
  readonly days?: number;
  readonly json?: boolean;
}

/** Files of a new folder, of which none may exist. Throws `ConflictError`. */
function newFiles<Name extends string>(out: string, names: readonly Name[]): (name: Name) => string {
  const folder = outputFolder(out);
  for (const name of names) refuseExisting(join(folder, name), 'choose another folder with --out');
  return (name) => join(folder, name);
}

function orderOf(days: number) {
  return { now: epochSeconds(systemClock), days, random: randomBytes(serialRandomOctets) };
}

interface RootOptions extends OutOptions {
  readonly passphraseFile?: string;
}

/** `signet ca root`: the root that follows another one. */
export function rootCommand(): Command {
  return new Command('root')
    .description('create a root authority with its revocation list; run this where the root key stays')
    .requiredOption('--out <folder>', 'folder for root.cert.pem, root.key.pem and root.crl.pem')
    .option('--days <number>', 'validity in days', parseDays, authorityDays.root)
    .option('--passphrase-file <file>', 'encrypt the private key with the passphrase in this file')
    .option('--json', 'print JSON')
    .action(
      action(async ({ out, days = authorityDays.root, passphraseFile, json }: RootOptions) => {
        const passphrase = passphraseFile === undefined ? undefined : readPassphrase(passphraseFile);
        const fileOf = newFiles(out, ['root.cert.pem', 'root.key.pem', 'root.crl.pem']);
        const made = newAuthorityKey();
        const certificate = buildRoot(made, orderOf(days));
        const list = await firstRevocationList({ certificate, key: made.pem }, systemClock);
        const key = passphrase === undefined ? made.pem : encryptPrivateKey(createPrivateKey(made.pem), passphrase);
        await createFile(fileOf('root.key.pem'), key, { mode: 0o600 });
        await createFile(fileOf('root.crl.pem'), list, { mode: 0o644 });
        await createFile(fileOf('root.cert.pem'), certificate, { mode: 0o644 });
        const { id, notAfter } = issuerFromPem(certificate, made.pem);
        const ends = formatTimestamp(notAfter * 1000);
        print({ root: id, notAfter: ends, certificate: fileOf('root.cert.pem'), key: fileOf('root.key.pem') }, json);
      }),
    );
}

/** `signet ca request`: on a server, so that the key of the next intermediate never leaves it. */
export function requestCommand(): Command {
  return new Command('request')
    .description(
      'create the key of a new issuing authority, and a certificate signing request for `signet ca intermediate --csr`',
    )
    .requiredOption('--out <folder>', 'where to make intermediate.key.pem and intermediate.csr.pem')
    .option('--json', 'print JSON')
    .action(
      action(async ({ out, json }: OutOptions) => {
        const fileOf = newFiles(out, ['intermediate.key.pem', 'intermediate.csr.pem']);
        const made = newAuthorityKey();
        await createFile(fileOf('intermediate.key.pem'), made.pem, { mode: 0o600 });
        await createFile(fileOf('intermediate.csr.pem'), authorityRequest(made), { mode: 0o644 });
        print({ request: fileOf('intermediate.csr.pem'), key: fileOf('intermediate.key.pem') }, json);
      }),
    );
}

interface IntermediateOptions extends OutOptions {
  readonly certificate: string;
  readonly key: string;
  readonly passphraseFile?: string;
  readonly csr?: string;
  readonly like?: string;
  readonly trustDomain?: string;
  readonly nameConstraints?: true | readonly string[];
  readonly crlUrl?: readonly string[];
}

/** `signet ca intermediate`: the authority that follows the present one, where the key of the root is. */
export function intermediateCommand(): Command {
  const own = ['trustDomain', 'nameConstraints', 'crlUrl'];
  return new Command('intermediate')
    .description('create an issuing authority below the root; run this where the root key is')
    .requiredOption('--certificate <file>', 'certificate of the root, PEM')
    .requiredOption('--key <file>', 'private key of the root, PEM')
    .option('--passphrase-file <file>', 'file with the passphrase of the key (default: prompt on a terminal)')
    .requiredOption('--out <folder>', 'folder for intermediate.cert.pem and, without --csr, intermediate.key.pem')
    .option('--csr <file>', 'certificate signing request from `signet ca request`; only its public key is used')
    .addOption(
      new Option(
        '--like <file>',
        'certificate of the previous issuing authority; its names and constraints are copied',
      ).conflicts(own),
    )
    .option('--trust-domain <name>', 'trust domain of the SPIFFE IDs, instead of --like')
    .option(
      '--name-constraints [name...]',
      'with --trust-domain: restrict it to the names of the trust domain and of this machine, and to these DNS names and networks',
    )
    .option(
      '--crl-url <address...>',
      'with --trust-domain: address of the revocation list of the root; {issuer} is replaced',
    )
    .option('--days <number>', 'validity in days, at most that of the root', parseDays, authorityDays.intermediate)
    .option('--json', 'print JSON')
    .action(action(async (options: IntermediateOptions) => print(await makeIntermediate(options), options.json)));
}

async function makeIntermediate(options: IntermediateOptions): Promise<Record<string, unknown>> {
  const key = await openPrivateKey(options.key, readFileSync(options.key, 'utf8'), options.passphraseFile);
  const root = issuerFromPem(readFileSync(options.certificate, 'utf8'), key);
  const names = namesOf(options);
  const made = options.csr === undefined ? newAuthorityKey() : undefined;
  const subjectKey = made?.key ?? parseCertificateRequest(readFileSync(options.csr ?? '', 'utf8')).subjectKey;
  const certificate = buildIntermediate(root, subjectKey, names, orderOf(options.days ?? authorityDays.intermediate));
  const fileOf = newFiles(options.out, ['intermediate.cert.pem', ...(made ? ['intermediate.key.pem'] : [])]);
  if (made !== undefined) await createFile(fileOf('intermediate.key.pem'), made.pem, { mode: 0o600 });
  await createFile(fileOf('intermediate.cert.pem'), certificate, { mode: 0o644 });
  return {
    issuer: subjectKey.keyIdentifier.toString('hex'),
    root: root.id,
    certificate: fileOf('intermediate.cert.pem'),
    ...(made !== undefined && { key: fileOf('intermediate.key.pem') }),
  };
}

/** Throws `UsageError`. */
function namesOf({ like, trustDomain, nameConstraints, crlUrl = [] }: IntermediateOptions): AuthorityNames {
  if (like !== undefined) return namesOfAuthority(readFileSync(like, 'utf8'));
  if (trustDomain === undefined)
    throw new UsageError('specify what it may certify: --like FILE, or --trust-domain NAME');
  const domain = parseDomainName(trustDomain, 'trust domain');
  const listed = nameConstraints === true ? [] : nameConstraints;
  const permitted = permittedNames({ trustDomain: domain, nameConstraints: listed }, ['localhost', '127.0.0.1', '::1']);
  return authorityNames(domain, permitted, crlUrl.map(checkCrlUrl));
}
