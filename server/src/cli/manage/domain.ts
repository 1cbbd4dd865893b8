import { Command } from 'commander';
import { z } from 'zod';
import { schemasOf, type Wires } from '../../model/fields.ts';
import { recordFields } from '../../model/record-fields.ts';
import { action } from '../run.ts';
import {
  given,
  list,
  listChanges,
  type ReadOptions,
  reader,
  show,
  type WriteOptions,
  wholeNumber,
  write,
  writer,
} from './commands.ts';
import { addDomainBounds } from './domain-bounds.ts';
import { manageTagged } from './management-client.ts';

type DomainFields = Wires<typeof recordFields.domain>;
/** `false`: none, which bodies say by leaving them out. */
type GivenFields = Omit<DomainFields, 'bundleReaders'> & { readonly bundleReaders?: string[] | false };
type UpdateOptions = WriteOptions & GivenFields;
type CreateOptions = UpdateOptions & { readonly admin: readonly string[] };

type FieldOption = readonly [flags: string, says: string, parse?: (text: string) => number];

/** The options of its fields; `enabled` has commands of its own. */
const fieldOptions: Readonly<Record<Exclude<keyof DomainFields, 'enabled'>, FieldOption>> = {
  description: ['--description <text>', 'what it is'],
  requireReason: ['--require-reason', 'require a reason for every change'],
  bundleReaders: [
    '--bundle-readers <services...>',
    'services whose hosts may follow the policy bundle of this domain automatically',
  ],
  approvals: ['--approvals <number>', 'approvals by other persons that every change needs (0 to 3)', wholeNumber],
};

/** `signet domain …`. */
export function domainCommand(): Command {
  const command = new Command('domain')
    .description('manage domains, which own roles, groups, policies and services')
    .addCommand(
      reader('list', 'list the domains that the caller may view').action(
        action((o: ReadOptions) => list(o, ['domains'])),
      ),
    )
    .addCommand(
      reader('show', 'show the attributes of a domain')
        .argument('<domain>')
        .action(action((domain: string, o: ReadOptions) => show(o, ['domains', domain]))),
    )
    .addCommand(
      withFields(writer('create', 'create a domain').argument('<domain>'))
        .requiredOption('--admin <principal...>', 'administrators of the domain')
        .action(action(create)),
    )
    .addCommand(
      withFields(
        writer('update', 'change attributes of a domain; omitted attributes stay unchanged').argument('<domain>'),
      )
        .option('--no-require-reason', 'do not require a reason')
        .option('--no-bundle-readers', 'remove all bundle readers')
        .action(action((domain: string, o: UpdateOptions) => update(domain, o, o))),
    )
    .addCommand(
      writer('disable', 'disable a domain: its services cannot authenticate and its policies have no effect')
        .argument('<domain>')
        .action(action((domain: string, o: WriteOptions) => update(domain, { enabled: false }, o))),
    )
    .addCommand(
      writer('enable', 'enable a disabled domain')
        .argument('<domain>')
        .action(action((domain: string, o: WriteOptions) => update(domain, { enabled: true }, o))),
    )
    .addCommand(
      writer('delete', 'delete a disabled domain and everything in it')
        .argument('<domain>')
        .action(action((domain: string, o: WriteOptions) => write(o, { method: 'DELETE', path: ['domains', domain] }))),
    )
    .addCommand(
      reader('changes', 'list changes, newest first')
        .argument('[domain]', 'only this domain (default: all domains; system operators only)')
        .action(
          action((domain: string | undefined, o: ReadOptions) =>
            listChanges(o, domain === undefined ? [] : ['domains', domain]),
          ),
        ),
    );
  return addDomainBounds(command);
}

function withFields(command: Command): Command {
  for (const [flags, says, parse] of Object.values(fieldOptions)) {
    if (parse === undefined) command.option(flags, says);
    else command.option(flags, says, parse);
  }
  return command;
}

/** The fields among the options that were given. */
function fieldsIn(options: GivenFields): Record<string, unknown> {
  return given(Object.fromEntries(Object.entries(options).filter(([name]) => name in recordFields.domain)));
}

async function create(domain: string, options: CreateOptions): Promise<void> {
  const body = { domain, admins: options.admin, ...fieldsIn(options) };
  await write(options, { method: 'POST', path: ['domains'], body });
}

/** Updates a domain: options not given keep their values, unless they were changed meanwhile. */
async function update(domain: string, changed: GivenFields, options: WriteOptions): Promise<void> {
  const path = ['domains', domain];
  const { body: now, tag } = await manageTagged(options, { method: 'GET', path });
  const none = changed.bundleReaders === false && { bundleReaders: undefined };
  const body = { ...fieldsSchema.parse(now), ...fieldsIn(changed), ...none };
  await write(options, { method: 'PUT', path, body, ifMatch: tag });
}

const fieldsSchema = z.object(schemasOf(recordFields.domain));
