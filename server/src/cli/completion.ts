import { Argument, Command, type Option } from 'commander';
import { type Completion, type Kind, scripts, type Values } from './completion-scripts.ts';
import { action } from './run.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** `signet completion`: prints a script that makes a shell complete the command line of `wholeProgram`, and names that it finds in files. */
export function completionCommand(wholeProgram: () => Promise<Command>): Command {
  return new Command('completion')
    .description('print a completion script: `source <(signet completion bash)`')
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(shells))
    .action(
      action(async (shell: Shell) => {
        process.stdout.write(scripts[shell](completionOf(await wholeProgram())));
      }),
    );
}

function completionOf(program: Command): Completion {
  const words = new Map<string, readonly string[]>();
  const first = new Map<string, Values>();
  const options = new Map<string, Values>();
  const visit = (command: Command, path: string): void => {
    const shown = command.options.filter(({ long, hidden }) => long != null && !hidden);
    const below = command.commands.map((each) => each.name());
    words.set(path, [...below, ...shown.map(({ long }) => String(long)), '--help']);
    for (const option of shown) {
      const values = valuesOf(option);
      // An option that means something else in another command is completed as the one that tells more.
      if (values !== undefined && rankOf(values) >= rankOf(options.get(String(option.long)))) {
        options.set(String(option.long), values);
      }
    }
    const [argument] = command.registeredArguments;
    const values = argument && (argument.argChoices ?? kindOf(argument.name()));
    if (values !== undefined) first.set(path, values);
    for (const each of command.commands) visit(each, `${path} ${each.name()}`.trim());
  };
  visit(program, '');
  return { words, first, options };
}

/** Completions of an option's value; undefined for one that takes none. */
function valuesOf({ long, flags, argChoices }: Option): Values | undefined {
  const name = /[<[]([^>\].]+)/.exec(flags)?.[1];
  if (name === undefined) return undefined;
  if (argChoices !== undefined) return argChoices;
  return principals.has(String(long)) ? 'identities' : (kindOf(name) ?? 'nothing');
}

/** Options whose value is a principal, whatever they call it. */
const principals: ReadonlySet<string> = new Set(['--as', '--principal', '--member', '--operator', '--admin']);

const kinds: Readonly<Record<string, Kind>> = {
  file: 'files',
  dir: 'folders',
  folder: 'folders',
  domain: 'domains',
  principal: 'identities',
  'domain.service': 'identities',
};

function kindOf(name: string): Kind | undefined {
  return Object.hasOwn(kinds, name) ? kinds[name] : undefined;
}

const ranks: readonly Kind[] = ['nothing', 'folders', 'files', 'domains', 'identities'];

function rankOf(values: Values | undefined): number {
  if (values === undefined) return -1;
  return typeof values === 'string' ? ranks.indexOf(values) : ranks.length;
}
