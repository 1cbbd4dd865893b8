import { readFileSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import { parse } from 'yaml';
import { action, namedAction } from '../run.ts';
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
import { manage, textOf } from './management-client.ts';
import { ManagementRefusedError } from './refused-request.ts';

interface AssertionOptions extends WriteOptions {
  readonly effect: string;
  readonly action: string;
  readonly resource: string;
  readonly role: string;
  readonly condition?: ConditionOptions;
  readonly caseSensitive?: boolean;
  readonly policyVersion?: string;
}

/** A value, or an operator with its value, by key. */
type ConditionOptions = Readonly<Record<string, string | { readonly operator: string; readonly value: string }>>;

const all = (domain: string) => ['domains', domain, 'policies'];
const versionPath = (domain: string, name: string, version: string) => [...all(domain), name, 'versions', version];
const one = (command: Command) => command.argument('<domain>').argument('<policy>');

/** The arguments of a command for a version. */
type Named<More extends string> = Readonly<Record<'domain' | 'policy' | 'version' | More, string>>;

/** `signet policy …`. */
export function policyCommand(): Command {
  const command = new Command('policy')
    .description('manage policies, which allow or deny actions to roles')
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
      one(
        writer('put', 'create or replace a policy from a file in the form of a domain document (`-`: standard input)'),
      )
        .argument('<file>')
        .action(
          action((domain: string, name: string, file: string, o: WriteOptions) =>
            write(o, { method: 'PUT', path: [...all(domain), name], body: readYaml(file) }),
          ),
        ),
    )
    .addCommand(
      one(writer('delete', 'delete a policy with all its versions')).action(
        action((domain: string, name: string, o: WriteOptions) =>
          write(o, { method: 'DELETE', path: [...all(domain), name] }),
        ),
      ),
    )
    .addCommand(
      one(reader('changes', 'list changes of a policy, newest first')).action(
        action((domain: string, name: string, o: ReadOptions) => listChanges(o, [...all(domain), name])),
      ),
    );
  return addVersionCommands(addAssertionCommands(command));
}

function addAssertionCommands(command: Command): Command {
  return command
    .addCommand(
      one(writer('add', 'add an assertion to the active version; create the policy if it does not exist'))
        .addOption(
          new Option('--effect <effect>', 'effect of the assertion').choices(['allow', 'deny']).default('allow'),
        )
        .requiredOption('--action <action>', 'action or pattern')
        .requiredOption('--resource <resource>', 'entity of the domain, or a pattern')
        .requiredOption('--role <role>', 'role of the domain, or a pattern')
        .option(
          '--condition <key[:operator]=value>',
          'apply the assertion only if this condition holds, such as instances=h1,h2 or instances:in_cidr=10.0.0.0/8; repeatable, all must hold',
          addCondition,
        )
        .option('--case-sensitive', 'match action and resource case-sensitively')
        .option('--policy-version <version>', 'add the assertion to this version (default: the active one)')
        .action(action(addAssertion)),
    )
    .addCommand(
      one(writer('remove', 'remove an assertion by its ID'))
        .argument('<version>')
        .argument('<id>')
        .action(
          namedAction(({ domain, policy, version, id }: Named<'id'>, o: WriteOptions) => {
            const path = [...versionPath(domain, policy, version), 'assertions', id];
            return write(o, { method: 'DELETE', path });
          }),
        ),
    );
}

function addVersionCommands(command: Command): Command {
  return command
    .addCommand(
      one(
        writer(
          'put-version',
          'create or replace a version with the assertions in a file (`-`: standard input); a new version is not active',
        ),
      )
        .argument('<version>')
        .argument('<file>')
        .action(
          namedAction(({ domain, policy, version, file }: Named<'file'>, o: WriteOptions) =>
            write(o, { method: 'PUT', path: versionPath(domain, policy, version), body: readYaml(file) }),
          ),
        ),
    )
    .addCommand(
      one(writer('delete-version', 'delete an inactive version'))
        .argument('<version>')
        .action(
          action((domain: string, name: string, version: string, o: WriteOptions) =>
            write(o, { method: 'DELETE', path: versionPath(domain, name, version) }),
          ),
        ),
    )
    .addCommand(
      one(writer('activate', 'make a version the active one'))
        .argument('<version>')
        .action(
          action((domain: string, name: string, version: string, o: WriteOptions) =>
            write(o, { method: 'PUT', path: [...all(domain), name, 'active'], body: { version } }),
          ),
        ),
    )
    .addCommand(
      one(writer('deactivate', 'deactivate a policy: no version is active')).action(
        action((domain: string, name: string, o: WriteOptions) =>
          write(o, { method: 'PUT', path: [...all(domain), name, 'active'], body: { version: null } }),
        ),
      ),
    );
}

/** YAML, of which JSON is a part. */
function readYaml(file: string): unknown {
  return parse(readFileSync(file === '-' ? process.stdin.fd : file, 'utf8'));
}

function addCondition(text: string, known: ConditionOptions = {}): ConditionOptions {
  const [, key, operator, value] = /^([^=:]+)(?::([^=]+))?=(.+)$/.exec(text) ?? [];
  if (key === undefined || value === undefined) {
    throw new InvalidArgumentError('must be key=value or key:operator=value');
  }
  return { ...known, [key]: operator === undefined ? value : { operator: operator.toUpperCase(), value } };
}

async function addAssertion(domain: string, name: string, options: AssertionOptions): Promise<void> {
  const { effect, resource, role, condition, caseSensitive, policyVersion } = options;
  const conditions = condition === undefined ? undefined : [condition];
  const assertion = given({ effect, action: options.action, resource, role, conditions, caseSensitive });
  const path = ['domains', domain, 'policies', name];
  const version = policyVersion ?? (await activeVersion(options, path));
  if (version === undefined) await write(options, { method: 'PUT', path, body: [assertion] });
  else await write(options, { method: 'POST', path: [...path, 'versions', version, 'assertions'], body: assertion });
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
