import { Command } from 'commander';
import type { recordFields } from '../../model/record-fields.ts';
import { action } from '../run.ts';
import {
  given,
  list,
  listChanges,
  type ReadOptions,
  reader,
  show,
  timeOf,
  type WriteOptions,
  wholeNumber,
  write,
  writer,
} from './commands.ts';

/* Every field: without one of them it does not compile. */
type RoleFields = Record<keyof typeof recordFields.role, unknown>;
type MemberFields = Record<keyof typeof recordFields.member, unknown>;

interface PutOptions extends WriteOptions {
  readonly description?: string;
  readonly trust?: string;
  readonly tokenExpiry?: number;
  readonly certExpiry?: number;
}

interface AddOptions extends WriteOptions {
  readonly expires?: string;
  readonly review?: string;
  readonly disabled?: boolean;
}

/** `signet role …`. */
export function roleCommand(): Command {
  const command = listCommands('role', 'roles: the members that policies grant access to');
  command.commands
    .find((one) => one.name() === 'create')
    ?.option('--trust <domain>', 'let this domain say who is in it')
    .option('--token-expiry <seconds>', 'the longest life of a token with it', wholeNumber)
    .option('--cert-expiry <seconds>', 'the longest life of a role certificate', wholeNumber);
  return command;
}

/** `signet group …`. */
export function groupCommand(): Command {
  return listCommands('group', 'groups: principals that roles take as one member');
}

function listCommands(kind: 'role' | 'group', description: string): Command {
  const all = (domain: string) => ['domains', domain, `${kind}s`];
  const one = (command: Command) => command.argument('<domain>').argument(`<${kind}>`);
  const command = new Command(kind)
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
      one(writer('create', `make a ${kind}, or change it; its members stay, what else is not given goes`))
        .option('--description <text>', 'what it is for')
        .action(
          action((domain: string, name: string, o: PutOptions) => {
            const own: RoleFields = {
              description: o.description,
              trust: o.trust,
              tokenExpirySeconds: o.tokenExpiry,
              certExpirySeconds: o.certExpiry,
            };
            return write(o, { method: 'PUT', path: [...all(domain), name], body: given(own) });
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
      one(reader('changes', `list what was changed in a ${kind}, newest first`)).action(
        action((domain: string, name: string, o: ReadOptions) => listChanges(o, [...all(domain), name])),
      ),
    );
  return addMemberCommands(command, kind);
}

function addMemberCommands(command: Command, kind: 'role' | 'group'): Command {
  const pathOf = (domain: string, name: string) => ['domains', domain, `${kind}s`, name, 'members'];
  const one = (each: Command) => each.argument('<domain>').argument(`<${kind}>`);
  return command
    .addCommand(
      one(reader('members', `list the members of a ${kind}`)).action(
        action((domain: string, name: string, o: ReadOptions) => list(o, pathOf(domain, name))),
      ),
    )
    .addCommand(
      one(writer('add', 'add a member, or change until when it counts'))
        .argument('<member>')
        .option('--expires <time>', 'when it ends: 2027-01-01T00:00:00Z, or 7d, 12h, 30m from now')
        .option('--review <time>', 'when somebody should look again')
        .option('--disabled', 'it is there and does not count')
        .action(
          action((domain: string, name: string, who: string, o: AddOptions) => {
            const { expires, review, disabled } = o;
            const own: MemberFields = {
              expires: expires && timeOf(expires),
              review: review && timeOf(review),
              disabled,
            };
            return write(o, { method: 'PUT', path: [...pathOf(domain, name), who], body: given(own) });
          }),
        ),
    )
    .addCommand(
      one(writer('remove', 'remove a member'))
        .argument('<member>')
        .action(
          action((domain: string, name: string, who: string, o: WriteOptions) =>
            write(o, { method: 'DELETE', path: [...pathOf(domain, name), who] }),
          ),
        ),
    );
}
