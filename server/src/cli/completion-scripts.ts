/** Source of a value's completions: names of files, or names in the files of `npm start`, documents and bundles. */
export type Kind = 'nothing' | 'files' | 'folders' | 'domains' | 'identities';

/** Completions of an option's or argument's value: words, or a source. */
export type Values = Kind | readonly string[];

/** Command line description for scripts. Names hold no character that a shell reads. */
export interface Completion {
  /** Words after each command (`''`, `token`, `token get`): commands below it and its options. */
  readonly words: ReadonlyMap<string, readonly string[]>;
  /** Completions of a command's first argument. */
  readonly first: ReadonlyMap<string, Values>;
  /** Completions of an option's value. */
  readonly options: ReadonlyMap<string, Values>;
}

/*
 * Shell functions that find the names without starting a program, whose delay would be noticed at each TAB. They read names alone, of
 * `dev.json`, of documents and of bundles; a file that is absent, or another user's, gives no names and no message.
 */
const helpers = `_signet_identities() {
  grep -oE '"[A-Za-z0-9_.-]+": ?[{] ?"cert"' "$1/dev.json" 2>/dev/null | cut -d '"' -f 2
}
_signet_domains() {
  {
    _signet_identities "$1" | sed 's/[.][^.]*$//'
    ls "$1/policy" 2>/dev/null | sed -n 's/[.]pol$//p'
    sed -n 's/^domain: *\\([A-Za-z0-9_.-]*\\).*/\\1/p' ./*.yaml policies/*.yaml 2>/dev/null
  } | grep -E '^[A-Za-z0-9_.-]+$' | sort -u
}
`;

/** Groups the options that are completed alike: what of them, and their names. */
function groupsOf(options: Completion['options']): [Values, string[]][] {
  const groups = Map.groupBy(options, ([, values]) => String(values));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    return first === undefined ? [] : [[first[1], group.map(([name]) => name)] as [Values, string[]]];
  });
}

/** Values as `name='value'` of the script: words stand for themselves, the other kinds have a name. */
function valuesText(values: Values): string {
  return typeof values === 'string' ? values : `words ${values.join(' ')}`;
}

function bashCases({ words, first }: Completion): string {
  const cases = [...words].map(([path, list]) => {
    const values = first.get(path);
    const own = values === undefined ? '' : ` first='${valuesText(values)}'`;
    return `    '${path}') words='${list.join(' ')}'${own} ;;`;
  });
  return cases.join('\n');
}

function bashOptions({ options }: Completion): string {
  return groupsOf(options)
    .map(([values, names]) => `    ${names.join('|')}) kind='${valuesText(values)}' ;;`)
    .join('\n');
}

/** The command is found among all words typed so far: values of options and arguments are none. */
const bash = (completion: Completion): string => `${helpers}_signet_known() {
  case "$1" in
    ${[...completion.words.keys()]
      .filter((path) => path !== '')
      .map((path) => `'${path}'`)
      .join('|')}) return 0 ;;
  esac
  return 1
}
_signet() {
  local current="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  local path='' word last='' words='' first='' kind='' data='.signet' values=''
  if [ "$current" = '=' ]; then current=''; fi
  if [ "$prev" = '=' ]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [ "$last" = --data ]; then data="$word"; fi
    if _signet_known "\${path:+$path }$word"; then path="\${path:+$path }$word"; fi
    last="$word"
  done
  case "$path" in
${bashCases(completion)}
  esac
  case "$prev" in
${bashOptions(completion)}
  esac
  if [ -z "$kind" ] && [ "$prev" = "\${path##* }" ]; then
    case "$current" in -*) ;; *) kind="$first" ;; esac
  fi
  if [ -n "$kind" ]; then words=''; fi
  case "$kind" in
    identities) values="$(_signet_identities "$data")" ;;
    domains) values="$(_signet_domains "$data")" ;;
    words\\ *) values="\${kind#words }" ;;
  esac
  COMPREPLY=($(compgen -W "$words $values" -- "$current"))
  case "$kind" in
    files) COMPREPLY+=($(compgen -f -- "$current")) ;;
    folders) COMPREPLY+=($(compgen -d -- "$current")) ;;
    '') [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}
complete -F _signet signet
`;

const zsh = (completion: Completion): string => `#compdef signet
autoload -U +X bashcompinit && bashcompinit
${bash(completion)}`;

function fishValues(values: Values): string {
  if (typeof values !== 'string') return `string split ' ' '${values.join(' ')}'`;
  const calls: Readonly<Record<Kind, string>> = {
    nothing: 'true',
    files: '__fish_complete_path (commandline -ct)',
    folders: '__fish_complete_directories (commandline -ct)',
    domains: '__signet_domains (__signet_data)',
    identities: '__signet_identities (__signet_data)',
  };
  return calls[values];
}

const fish = ({ words, first, options }: Completion): string => `function __signet_identities
  grep -oE '"[A-Za-z0-9_.-]+": ?[{] ?"cert"' "$argv[1]/dev.json" 2>/dev/null | cut -d '"' -f 2
end
function __signet_domains
  begin
    __signet_identities $argv[1] | sed 's/[.][^.]*$//'
    ls "$argv[1]/policy" 2>/dev/null | sed -n 's/[.]pol$//p'
    set -l documents *.yaml policies/*.yaml
    test (count $documents) -gt 0; and sed -n 's/^domain: *\\([A-Za-z0-9_.-]*\\).*/\\1/p' $documents 2>/dev/null
  end | grep -E '^[A-Za-z0-9_.-]+$' | sort -u
end
function __signet_data
  set -l typed (commandline -opc)
  set -l at (contains -i -- --data $typed)
  and test $at -lt (count $typed)
  and echo $typed[(math $at + 1)]
  or echo .signet
end
function __signet_words
  set -l path
  set -l known ${[...words.keys()]
    .filter((path) => path !== '')
    .map((path) => `'${path}'`)
    .join(' ')}
  set -l typed (commandline -opc)
  for word in $typed[2..-1]
    contains -- "$path $word" ' '$known; and set path "$path $word"
  end
  switch "$typed[-1]"
${groupsOf(options)
  .map(([values, names]) => `    case ${names.join(' ')}\n      ${fishValues(values)}\n      return`)
  .join('\n')}
  end
  switch (string trim -- "$path")
${[...words]
  .map(([path, list]) => {
    const values = first.get(path);
    const own = values === undefined ? '' : `\n      ${fishValues(values)}`;
    return `    case '${path}'\n      string split ' ' '${list.join(' ')}'${own}`;
  })
  .join('\n')}
  end
end
complete -c signet -f -a '(__signet_words)'
`;

/** The script of each shell. */
export const scripts: Readonly<Record<'bash' | 'zsh' | 'fish', (completion: Completion) => string>> = {
  bash,
  zsh,
  fish,
};
