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
  readonly approvals?: number;
  readonly requestSeconds?: number;
}

interface AddOptions extends WriteOptions {
  readonly expires?: string;
  readonly review?: string;
  readonly disabled?: boolean;
}

/** `signet role …`. */
export function roleCommand(): Command {
  const command = listCommands('role', 'manage roles and their members');
  command.commands
    .find((one) => one.name() === 'create')
    ?.option('--trust <domain>', 'delegate the membership of the role to this domain')
    .option('--token-expiry <seconds>', 'maximum lifetime of tokens with the role', wholeNumber)
    .option('--cert-expiry <seconds>', 'maximum lifetime of role certificates', wholeNumber)
    .option('--approvals <number>', 'approvals by other persons that a change of the role needs (0 to 3)', wholeNumber)
    .option('--request-seconds <seconds>', 'maximum time for which anyone may ask for the role', wholeNumber);
  return command;
}

/** `signet group …`. */
export function groupCommand(): Command {
  return listCommands('group', 'manage groups, which roles can have as members');
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
      one(writer('create', `create or replace a ${kind}; its members stay, other omitted fields are cleared`))
        .option('--description <text>', 'description')
        .action(
          action((domain: string, name: string, o: PutOptions) => {
            const own: RoleFields = {
              description: o.description,
              trust: o.trust,
              tokenExpirySeconds: o.tokenExpiry,
              certExpirySeconds: o.certExpiry,
              approvals: o.approvals,
              requestSeconds: o.requestSeconds,
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
      one(reader('changes', `list changes of a ${kind}, newest first`)).action(
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
      one(writer('add', 'add a member, or change its expiry, review time and state'))
        .argument('<member>')
        .option('--expires <time>', 'expiry of the membership: 2027-01-01T00:00:00Z, or 7d, 12h, 30m from now')
        .option('--review <time>', 'time of the next review of the membership')
        .option('--disabled', 'add the member in disabled state')
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
