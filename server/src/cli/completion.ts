import { Argument, Command } from 'commander';
import { action } from './run.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

/** `signet completion`: prints a script that makes a shell complete the command line of `wholeProgram`. */
export function completionCommand(wholeProgram: () => Promise<Command>): Command {
  return new Command('completion')
    .description('print a completion script: `source <(signet completion bash)`')
    .addArgument(new Argument('<shell>', 'bash, zsh or fish').choices(shells))
    .action(
      action(async (shell: Shell) => {
        process.stdout.write(scripts[shell](wordLists(await wholeProgram())));
      }),
    );
}

/** What may follow each command (`''`, `token`, `token get`): commands below it and its options. */
type WordLists = ReadonlyMap<string, readonly string[]>;

function wordLists(program: Command): WordLists {
  const lists = new Map<string, readonly string[]>();
  const visit = (command: Command, path: string): void => {
    const options = command.options.flatMap(({ long, hidden }) => (long == null || hidden ? [] : [long]));
    const below = command.commands.map((each) => each.name());
    lists.set(path, [...below, ...options, '--help']);
    for (const each of command.commands) visit(each, `${path} ${each.name()}`.trim());
  };
  visit(program, '');
  return lists;
}

/** A shell `case` that answers the words for the commands typed so far; names hold no character that a shell reads. */
function cases(lists: WordLists): string {
  return [...lists].map(([path, words]) => `    '${path}') words='${words.join(' ')}' ;;`).join('\n');
}

/** The commands among the words typed so far, joined by blanks: options end them. */
const bash = (lists: WordLists): string => `_signet() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path='' word words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) break ;; *) path="\${path:+$path }$word" ;; esac
  done
  case "$path" in
${cases(lists)}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current"))
}
complete -F _signet signet
`;

const zsh = (lists: WordLists): string => `#compdef signet
autoload -U +X bashcompinit && bashcompinit
${bash(lists)}`;

const fish = (lists: WordLists): string => `function __signet_words
  set -l path
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; and break
    set -a path $word
  end
  switch "$path"
${[...lists].map(([path, words]) => `    case '${path}'\n      string split ' ' '${words.join(' ')}'`).join('\n')}
  end
end
complete -c signet -a '(__signet_words)'
`;

const scripts: Readonly<Record<Shell, (lists: WordLists) => string>> = { bash, zsh, fish };
