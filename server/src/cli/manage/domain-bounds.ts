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
    'set maximum lifetimes; an omitted limit is removed, and that of the server applies',
  )
    .argument('<domain>')
    .option('--token <seconds>', 'maximum lifetime of access tokens', wholeNumber)
    .option('--service-cert <seconds>', 'maximum lifetime of service certificates', wholeNumber)
    .option('--role-cert <seconds>', 'maximum lifetime of role certificates', wholeNumber)
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
  const setQuotas = writer(
    'set-quotas',
    'set the quotas of a domain; an omitted quota is removed, and that of the server applies',
  )
    .argument('<domain>')
    .action(
      action((name: string, o: Bounds) => {
        const body = given(Object.fromEntries(quotaKinds.map((kind) => [kind, o[kind]])));
        return write(o, { method: 'PUT', path: ['domains', name, 'quotas'], body });
      }),
    );
  for (const kind of quotaKinds) setQuotas.option(`--${kind} <number>`, `maximum number of ${kind}`, wholeNumber);
  return domain
    .addCommand(part('limits', 'show the maximum lifetimes set on a domain', ['limits']))
    .addCommand(setLimits)
    .addCommand(part('quotas', 'show the quotas of a domain, and which are set on the domain', ['quotas']))
    .addCommand(setQuotas)
    .addCommand(part('account', 'show the cloud account of a domain', ['accounts', 'aws']))
    .addCommand(
      writer('set-account', 'set the AWS account of a domain; system operators only')
        .argument('<domain>')
        .argument('<account>', '12 digits')
        .action(
          action((name: string, account: string, o: WriteOptions) =>
            write(o, { method: 'PUT', path: ['domains', name, 'accounts', 'aws'], body: { account } }),
          ),
        ),
    )
    .addCommand(
      writer('remove-account', 'remove the cloud account of a domain; system operators only')
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
