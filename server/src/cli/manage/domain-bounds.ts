import type { Command } from 'commander';
import type { recordFields } from '../../model/record-fields.ts';
import { quotaKinds } from '../../model/records.ts';
import { action } from '../run.ts';
import { given, type ReadOptions, reader, show, type WriteOptions, wholeNumber, write, writer } from './commands.ts';

type Bounds = WriteOptions & Readonly<Record<string, unknown>>;

/** The parts of `signet domain` about what a domain may have: lifetimes, quotas, cloud account. */
export function addDomainBounds(domain: Command): Command {
  const setLimits = writer(
    'set-limits',
    'set the longest lifetimes in seconds; what is not given only the server bounds',
  )
    .argument('<domain>')
    .option('--token <seconds>', 'of access tokens', wholeNumber)
    .option('--service-cert <seconds>', 'of certificates of services', wholeNumber)
    .option('--role-cert <seconds>', 'of role certificates', wholeNumber)
    .action(
      action((name: string, o: Bounds) => {
        const body = given({
          tokenExpirySeconds: o['token'],
          serviceCertExpirySeconds: o['serviceCert'],
          roleCertExpirySeconds: o['roleCert'],
        } satisfies Record<keyof typeof recordFields.limits, unknown>);
        return write(o, { method: 'PUT', path: ['domains', name, 'limits'], body });
      }),
    );
  const setQuotas = writer('set-quotas', 'set how many it may have of each; for what is not given the server says')
    .argument('<domain>')
    .action(
      action((name: string, o: Bounds) => {
        const body = given(Object.fromEntries(quotaKinds.map((kind) => [kind, o[kind]])));
        return write(o, { method: 'PUT', path: ['domains', name, 'quotas'], body });
      }),
    );
  for (const kind of quotaKinds) setQuotas.option(`--${kind} <number>`, `at most so many ${kind}`, wholeNumber);
  return domain
    .addCommand(part('limits', 'show the longest lifetimes that the domain allows', ['limits']))
    .addCommand(setLimits)
    .addCommand(part('quotas', 'show how many of each it may have, and which of these numbers are its own', ['quotas']))
    .addCommand(setQuotas)
    .addCommand(part('account', 'show the cloud account', ['accounts', 'aws']))
    .addCommand(
      writer('set-account', 'set the AWS account that its roles may be used in; for system operators')
        .argument('<domain>')
        .argument('<account>', '12 digits')
        .action(
          action((name: string, account: string, o: WriteOptions) =>
            write(o, { method: 'PUT', path: ['domains', name, 'accounts', 'aws'], body: { account } }),
          ),
        ),
    )
    .addCommand(
      writer('remove-account', 'remove the cloud account; for system operators')
        .argument('<domain>')
        .action(
          action((name: string, o: WriteOptions) =>
            write(o, { method: 'DELETE', path: ['domains', name, 'accounts', 'aws'] }),
          ),
        ),
    );
}

function part(name: string, description: string, path: readonly string[]): Command {
  return reader(name, description)
    .argument('<domain>')
    .action(action((domain: string, o: ReadOptions) => show(o, ['domains', domain, ...path])));
}
