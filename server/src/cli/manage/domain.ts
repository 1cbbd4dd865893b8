import { Command } from 'commander';
import { z } from 'zod';
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

interface UpdateOptions extends WriteOptions {
  readonly description?: string;
  readonly requireReason?: boolean;
}

interface CreateOptions extends WriteOptions {
  readonly admin: readonly string[];
  readonly description?: string;
  readonly requireReason?: boolean;
}

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
      writer('create', 'make a domain')
        .argument('<domain>')
        .requiredOption('--admin <principal...>', 'who administers it')
        .option('--description <text>', 'what it is')
        .option('--require-reason', 'every change has to say why')
        .action(action(create)),
    )
    .addCommand(
      writer('update', 'change what a domain says of itself; what is not given stays')
        .argument('<domain>')
        .option('--description <text>', 'what it is')
        .option('--require-reason', 'every change has to say why')
        .option('--no-require-reason', 'no change has to say why')
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

async function create(domain: string, options: CreateOptions): Promise<void> {
  const { admin, description, requireReason } = options;
  await write(options, {
    method: 'POST',
    path: ['domains'],
    body: given({ domain, admins: admin, description, requireReason }),
  });
}

interface DomainFields {
  readonly description?: string;
  readonly requireReason?: boolean;
  readonly enabled?: boolean;
}

/** What is not given goes back as it was, unless somebody was faster. */
async function update(domain: string, fields: DomainFields, options: WriteOptions): Promise<void> {
  const path = ['domains', domain];
  const { body: now, tag } = await manageTagged(options, { method: 'GET', path });
  const { description, requireReason, enabled } = {
    ...fieldsSchema.parse(now),
    ...given({
      description: fields.description,
      requireReason: fields.requireReason,
      enabled: fields.enabled,
    }),
  };
  await write(options, { method: 'PUT', path, body: given({ description, requireReason, enabled }), ifMatch: tag });
}

const fieldsSchema = z.object({
  description: z.string().optional(),
  requireReason: z.boolean().optional(),
  enabled: z.boolean().optional(),
});
