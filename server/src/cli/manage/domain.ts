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

/** The options of its fields; `enabled` has commands of its own. */
const fieldOptions: Readonly<Record<Exclude<keyof DomainFields, 'enabled'>, readonly [flags: string, says: string]>> = {
  description: ['--description <text>', 'what it is'],
  requireReason: ['--require-reason', 'every change has to say why'],
  bundleReaders: [
    '--bundle-readers <services...>',
    'whose hosts keep its policy bundle, where their updaters ask for that',
  ],
};

/** `signet domain …`. */
export function domainCommand(): Command {
  const command = new Command('domain')
    .description('domains: the owners of everything else')
    .addCommand(
      reader('list', 'list the domains that you may look at').action(action((o: ReadOptions) => list(o, ['domains']))),
    )
    .addCommand(
      reader('show', 'show what a domain says of itself')
        .argument('<domain>')
        .action(action((domain: string, o: ReadOptions) => show(o, ['domains', domain]))),
    )
    .addCommand(
      withFields(writer('create', 'make a domain').argument('<domain>'))
        .requiredOption('--admin <principal...>', 'who administers it')
        .action(action(create)),
    )
    .addCommand(
      withFields(writer('update', 'change what a domain says of itself; what is not given stays').argument('<domain>'))
        .option('--no-require-reason', 'no change has to say why')
        .option('--no-bundle-readers', 'no host keeps its policy bundle by itself')
        .action(action((domain: string, o: UpdateOptions) => update(domain, o, o))),
    )
    .addCommand(
      writer('disable', 'disable a domain: its services cannot authenticate, its policies decide nothing')
        .argument('<domain>')
        .action(action((domain: string, o: WriteOptions) => update(domain, { enabled: false }, o))),
    )
    .addCommand(
      writer('enable', 'switch a domain on again')
        .argument('<domain>')
        .action(action((domain: string, o: WriteOptions) => update(domain, { enabled: true }, o))),
    )
    .addCommand(
      writer('delete', 'delete a disabled domain with everything in it')
        .argument('<domain>')
        .action(action((domain: string, o: WriteOptions) => write(o, { method: 'DELETE', path: ['domains', domain] }))),
    )
    .addCommand(
      reader('changes', 'list what was changed, newest first')
        .argument('[domain]', 'only in this one (without it, for system operators: everywhere)')
        .action(
          action((domain: string | undefined, o: ReadOptions) =>
            listChanges(o, domain === undefined ? [] : ['domains', domain]),
          ),
        ),
    );
  return addDomainBounds(command);
}

function withFields(command: Command): Command {
  for (const [flags, says] of Object.values(fieldOptions)) command.option(flags, says);
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
