import { Command } from 'commander';
import { action } from '../run.ts';
import { given, list, type ReadOptions, reader, show, timeOf, type WriteOptions, write, writer } from './commands.ts';

interface PutOptions extends WriteOptions {
  readonly description?: string;
  readonly trust?: string;
}

interface AddOptions extends WriteOptions {
  readonly expires?: string;
  readonly review?: string;
}

/** `signet role …`. */
export function roleCommand(): Command {
  const command = listCommands('role', 'roles: who may be given what policies say');
  command.commands
    .find((one) => one.name() === 'create')
    ?.option('--trust <domain>', 'let this domain say who is in it');
  return command;
}

/** `signet group …`. */
export function groupCommand(): Command {
  return listCommands('group', 'groups: principals that roles take as one member');
}

function listCommands(kind: 'role' | 'group', description: string): Command {
  const all = (domain: string) => ['domains', domain, `${kind}s`];
  const one = (command: Command) => command.argument('<domain>').argument(`<${kind}>`);
  const member = (command: Command) => one(command).argument('<member>');
  return new Command(kind)
    .description(description)
    .addCommand(
      reader('list', `list the ${kind}s of a domain`)
        .argument('<domain>')
        .action(action((domain: string, o: ReadOptions) => list(o, all(domain)))),
    )
    .addCommand(
      one(reader('show', `show a ${kind}`)).action(
        action((domain: string, name: string, o: ReadOptions) => show(o, [...all(domain), name])),
      ),
    )
    .addCommand(
      one(writer('create', `make a ${kind}, or change it; its members stay`))
        .option('--description <text>', 'what it is for')
        .action(
          action((domain: string, name: string, o: PutOptions) => {
            const body = given({ description: o.description, trust: o.trust });
            return write(o, { method: 'PUT', path: [...all(domain), name], body });
          }),
        ),
    )
    .addCommand(
      one(writer('delete', `delete a ${kind}`)).action(
        action((domain: string, name: string, o: WriteOptions) =>
          write(o, { method: 'DELETE', path: [...all(domain), name] }),
        ),
      ),
    )
    .addCommand(
      member(writer('add', 'add a member, or change until when it counts'))
        .option('--expires <time>', 'when it ends: 2027-01-01T00:00:00Z, or 7d, 12h, 30m from now')
        .option('--review <time>', 'when somebody should look again')
        .action(
          action((domain: string, name: string, who: string, o: AddOptions) => {
            const body = given({ expires: o.expires && timeOf(o.expires), review: o.review && timeOf(o.review) });
            return write(o, { method: 'PUT', path: [...all(domain), name, 'members', who], body });
          }),
        ),
    )
    .addCommand(
      member(writer('remove', 'take a member away')).action(
        action((domain: string, name: string, who: string, o: WriteOptions) =>
          write(o, { method: 'DELETE', path: [...all(domain), name, 'members', who] }),
        ),
      ),
    );
}
