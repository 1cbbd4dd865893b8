import { hash } from 'node:crypto';
import { epochSeconds, formatTimestamp, systemClock } from '@signet/policy-engine/clock';
import type { PrincipalName } from '@signet/policy-engine/names';
import { Command } from 'commander';
import { isKnownIdentity } from '../access/known-identity.ts';
import { issuerFilesOf } from '../compose/compose-identity.ts';
import { addressesOf, loadConfig, type ServerConfig } from '../config/config.ts';
import { processEnvironment } from '../config/env.ts';
import { ConflictError } from '../errors.ts';
import { systemDomain } from '../management/rights.ts';
import { systemRolesOf } from '../people/system-roles.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { openStore } from '../store/open.ts';
import { openIssuers } from '../x509/issuers.ts';
import { clientFolder, refuseClientFolder, writeClientConfig } from './identity/client-folder.ts';
import { parseDays, warnOfShorterLife } from './identity/issue.ts';
import { parseAdministrator } from './init/administrator.ts';
import { signNew } from './init/issue.ts';
import { localActor } from './local-user.ts';
import { snapshotIn } from './read-snapshot.ts';
import { action, configPathOf, print, warn } from './run.ts';
import { outputFolder, writeOutput } from './written-output.ts';

interface IssueOptions {
  readonly out: string;
  readonly days?: number;
  readonly force?: boolean;
  readonly json?: boolean;
}

/**
 * `signet certificate issue`: the way back in on the machine of the server, when no administrator has a certificate that counts. Who may write the
 * store and read the key of the issuer could do the same without it, and leave no record.
 */
export function issueLocallyCommand(): Command {
  return new Command('issue')
    .description(
      'issue a client certificate locally with the issuer of this server, if no administrator has a valid one',
    )
    .argument('<principal>', '`user.<name>`, or a service of `sys.auth`')
    .requiredOption(
      '--out <dir>',
      'folder for cert.pem, key.pem (mode 0600), ca.pem and client.yaml; created if missing',
    )
    .option('--days <number>', 'requested lifetime (default: people.expirySeconds)', parseDays)
    .option('--force', 'overwrite existing files')
    .option('--json', 'print JSON')
    .action(action(issueLocally));
}

async function issueLocally(principal: string, options: IssueOptions, command: Command): Promise<void> {
  const name = parseAdministrator(principal, 'principal');
  const { days, force = false, json } = options;
  const config = loadConfig(configPathOf(command), processEnvironment());
  const files = clientFolder(outputFolder(options.out));
  if (!force) refuseClientFolder(files);
  const askedAt = systemClock.now();
  const { key, certificate, notAfter, administers } = await issueRecorded(
    config,
    name,
    days === undefined ? undefined : days * 86_400,
  );
  await writeOutput(files.key, key, { force });
  await writeOutput(files.certificate, certificate, { force, mode: 0o644 });
  const { baseUrl } = addressesOf(config, config.listen.port);
  await writeClientConfig(files, { baseUrl, caBundle: config.certificates.roots }, force);
  print({ principal: name, notAfter: formatTimestamp(notAfter * 1000), ...files }, json);
  warnOfShorterLife(days, askedAt, notAfter * 1000);
  if (!administers)
    warn(
      `\`${name}\` has no role in \`sys.auth\`: add it to \`admin\` in that domain document and run \`signet apply\``,
    );
}

/** A certificate of a service that is not there leads nowhere: the server refuses it. Throws `ConflictError`. */
function requireEnabled(snapshot: Snapshot, name: PrincipalName): void {
  if (isKnownIdentity(name, snapshot)) return;
  const help = 'add it to the domain document and run `signet apply`, or name a person';
  throw new ConflictError(`\`${name}\` is not an enabled service of \`sys.auth\`: ${help}`);
}

/** Life of the certificate: the same as by a request of an operator over the network. */
function lifeOf({ people, certificates }: ServerConfig, snapshot: Snapshot, name: PrincipalName) {
  const { expirySeconds: defaultSeconds, maxExpirySeconds } = people;
  if (name.startsWith('user.')) return { kind: 'user', defaultSeconds, maxSeconds: [maxExpirySeconds] } as const;
  const ofDomain = snapshot.domain(systemDomain)?.limits.serviceCertExpirySeconds;
  return { kind: 'service', defaultSeconds, maxSeconds: [certificates.serviceMaxExpirySeconds, ofDomain] } as const;
}

/** Signs, and records it with its audit record in one transaction. */
async function issueRecorded(
  config: ServerConfig,
  name: PrincipalName,
  requestedSeconds: number | undefined,
): Promise<{ key: string; certificate: string; notAfter: number; administers: boolean }> {
  const clock = systemClock;
  const issuers = await openIssuers({ ...issuerFilesOf(config), onError: () => undefined });
  try {
    const store = await openStore(config.store, { clock });
    try {
      const snapshot = await snapshotIn(store, [systemDomain]);
      requireEnabled(snapshot, name);
      const issuer = issuers.signing(epochSeconds(clock));
      const { trustDomain } = config.certificates;
      const deps = { issuer, certificates: store.certificates, trustDomain, clock };
      const order = { ...lifeOf(config, snapshot, name), requestedSeconds, askedBy: { names: [localActor()] } };
      const { signed, key, spki } = await signNew(deps, { name, usage: 'client', hosts: [] }, order);
      const { serial, fingerprint, notAfter } = signed;
      await store.change({ actor: localActor() }, (transaction) =>
        transaction.recordCertificate({
          serial,
          fingerprint,
          principal: name,
          details: {
            kind: order.kind,
            notAfter: formatTimestamp(notAfter * 1000),
            key: hash('sha256', spki, 'base64url'),
          },
        }),
      );
      const administers = systemRolesOf(snapshot, name, clock.now()).length > 0;
      return { key, certificate: `${signed.pem}${signed.chainPem}`, notAfter, administers };
    } finally {
      await store.close();
    }
  } finally {
    issuers.close();
  }
}
