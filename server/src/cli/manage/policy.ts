import { Command, Option } from 'commander';
import { action } from '../run.ts';
import { given, list, type ReadOptions, reader, show, type WriteOptions, write, writer } from './commands.ts';
import { ManagementRefusedError, manage, textOf } from './management-client.ts';

interface RuleOptions extends WriteOptions {
  readonly effect: string;
  readonly action: string;
  readonly resource: string;
  readonly role: string;
}

/** `signet policy …`. */
export function policyCommand(): Command {
  const all = (domain: string) => ['domains', domain, 'policies'];
  const one = (command: Command) => command.argument('<domain>').argument('<policy>');
  return new Command('policy')
    .description('policies: what roles may do')
    .addCommand(
      reader('list', 'list the policies of a domain')
        .argument('<domain>')
        .action(action((domain: string, o: ReadOptions) => list(o, all(domain)))),
    )
    .addCommand(
      one(reader('show', 'show a policy with all its versions')).action(
        action((domain: string, name: string, o: ReadOptions) => show(o, [...all(domain), name])),
      ),
    )
    .addCommand(
      one(writer('add', 'add a rule to the active version, and make the policy where there is none'))
        .addOption(new Option('--effect <effect>', 'what it does').choices(['allow', 'deny']).default('allow'))
        .requiredOption('--action <action>', 'an action, or a pattern')
        .requiredOption('--resource <resource>', 'an entity of the domain, or a pattern')
        .requiredOption('--role <role>', 'a role of the domain, or a pattern')
        .action(action(addRule)),
    )
    .addCommand(
      one(writer('remove', 'take a rule away by its id'))
        .argument('<version>')
        .argument('<id>')
        .action(
          action((domain: string, name: string, version: string, id: string, o: WriteOptions) => {
            const path = [...all(domain), name, 'versions', version, 'assertions', id];
            return write(o, { method: 'DELETE', path });
          }),
        ),
    )
    .addCommand(
      one(writer('activate', 'make another version the active one'))
        .argument('<version>')
        .action(
          action((domain: string, name: string, version: string, o: WriteOptions) =>
            write(o, { method: 'PUT', path: [...all(domain), name, 'active'], body: { version } }),
          ),
        ),
    )
    .addCommand(
      one(writer('delete', 'delete a policy with all its versions')).action(
        action((domain: string, name: string, o: WriteOptions) =>
          write(o, { method: 'DELETE', path: [...all(domain), name] }),
        ),
      ),
    );
}

async function addRule(domain: string, name: string, options: RuleOptions): Promise<void> {
  const { effect, resource, role } = options;
  const rule = given({ effect, action: options.action, resource, role });
  const path = ['domains', domain, 'policies', name];
  const active = await activeVersion(options, path);
  if (active === undefined) await write(options, { method: 'PUT', path, body: [rule] });
  else await write(options, { method: 'POST', path: [...path, 'versions', active, 'assertions'], body: rule });
}

/** Undefined when there is no such policy; version `0` where none is active. */
async function activeVersion(options: WriteOptions, path: readonly string[]): Promise<string | undefined> {
  try {
    return textOf(await manage(options, { method: 'GET', path }), 'active') ?? '0';
  } catch (error) {
    if (error instanceof ManagementRefusedError && error.status === 404) return undefined;
    throw error;
  }
}
