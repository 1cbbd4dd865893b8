import { Command } from 'commander';
import { action } from '../run.ts';
import { given, list, type ReadOptions, reader, show, type WriteOptions, write, writer } from './commands.ts';
import { manage } from './management-client.ts';

interface CreateOptions extends WriteOptions {
  readonly admin: readonly string[];
  readonly description?: string;
  readonly requireReason?: boolean;
}

/** `signet domain …`. */
export function domainCommand(): Command {
  return new Command('domain')
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
      writer('disable', 'switch a domain off: its services are nobody, its policies decide nothing')
        .argument('<domain>')
        .action(action((domain: string, o: WriteOptions) => setEnabled(domain, false, o))),
    )
    .addCommand(
      writer('enable', 'switch a domain on again')
        .argument('<domain>')
        .action(action((domain: string, o: WriteOptions) => setEnabled(domain, true, o))),
    )
    .addCommand(
      writer('delete', 'delete a disabled domain with everything in it')
        .argument('<domain>')
        .action(action((domain: string, o: WriteOptions) => write(o, { method: 'DELETE', path: ['domains', domain] }))),
    )
    .addCommand(
      reader('changes', 'list what was changed, newest first')
        .argument('<domain>')
        .action(action((domain: string, o: ReadOptions) => list(o, ['domains', domain, 'changes']))),
    );
}

async function create(domain: string, options: CreateOptions): Promise<void> {
  const { admin, description, requireReason } = options;
  await write(options, {
    method: 'POST',
    path: ['domains'],
    body: given({ domain, admins: admin, description, requireReason }),
  });
}

/** Only the switch changes: the rest goes back as it was. */
async function setEnabled(domain: string, enabled: boolean, options: WriteOptions): Promise<void> {
  const path = ['domains', domain];
  const now = await manage(options, { method: 'GET', path });
  const { description, requireReason } = Object(now) as { description?: unknown; requireReason?: unknown };
  await write(options, { method: 'PUT', path, body: given({ description, requireReason, enabled }) });
}
