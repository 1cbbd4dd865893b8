import type { createProgram } from '@signet/updater/program';

type Command = ReturnType<typeof createProgram>;

/** A program with its commands, and what its page says first. */
export interface ProgramPage {
  readonly program: Command;
  readonly text: string;
}

/** A page of commands: a group of the first program, or the other programs. */
interface Page {
  readonly file: string;
  readonly title: string;
  readonly entries: readonly NamedCommand[];
}

interface NamedCommand {
  readonly path: readonly string[];
  readonly command: Command;
}

const index = 'cli.md';
const made = 'Every command with what `--help` prints, made by `npm run reference`.';

/** Pages of every command with its help, by name below `docs/reference/`: the list, one for each group of the first program, one for the others. */
export function cliPages([first, ...others]: readonly [ProgramPage, ...ProgramPage[]]): Map<string, string> {
  const root = { path: [first.program.name()], command: first.program };
  const rest = {
    file: 'cli-programs.md',
    title: 'Other programs',
    entries: others.flatMap(({ program }) => leaves(program, [program.name()])),
  };
  const pages = [...groupsOf(first.program), rest];
  const lists = pages.map(({ file, title, entries }) => `## ${title}\n\n${listOf(file, entries)}`);
  const texts = others.map(({ program, text }) => `\`${program.name()}\`: ${text}`);
  return new Map([
    [index, `# Command line\n\n${made}\n\n${first.text}\n\n${entry(root)}\n${lists.join('\n')}`],
    ...pages.map((page) => [page.file, pageText(page, page === rest ? texts : [])] as const),
  ]);
}

function pageText({ title, entries }: Page, texts: readonly string[]): string {
  const head = [`# Command line: ${lowered(title)}`, `${made} [All commands](${index}).`, ...texts];
  return `${head.join('\n\n')}\n\n${entries.map(entry).join('\n')}`;
}

const lowered = (text: string): string => `${text.slice(0, 1).toLowerCase()}${text.slice(1)}`;

/** A command with more commands of its own has its own page. */
const maxCommandsOnGroupPage = 8;

/** The groups in which the help of a program lists its commands, with every command below those. */
function groupsOf(program: Command): Page[] {
  const headings = [...new Set(program.commands.map((command) => command.helpGroup()))].filter((name) => name !== '');
  return headings.flatMap((heading) => {
    const title = heading.replace(/:$/, '');
    const commands = program.commands.filter((command) => command.helpGroup() === heading);
    const large = commands.filter(isLarge);
    const pageOf = (name: string, pageTitle: string, of: readonly Command[]): Page => ({
      file: `cli-${name}.md`,
      title: pageTitle,
      entries: of.flatMap((command) => leaves(command, [program.name(), command.name()])),
    });
    return [
      pageOf(
        title.toLowerCase().replaceAll(/[^a-z]+/g, '-'),
        title,
        commands.filter((command) => !large.includes(command)),
      ),
      ...large.map((command) => pageOf(command.name(), `${title}: ${command.name()}`, [command])),
    ];
  });
}

function isLarge({ commands }: Command): boolean {
  return commands.length > maxCommandsOnGroupPage;
}

/** The command itself, then every command below it, each before its own commands. */
function leaves(command: Command, path: readonly string[]): NamedCommand[] {
  const below = command.commands.flatMap((each) => leaves(each, [...path, each.name()]));
  return [{ path, command }, ...below];
}

/** Links to the commands of a page. */
function listOf(file: string, entries: readonly NamedCommand[]): string {
  return entries
    .map(({ path }) => `- [\`${path.join(' ')}\`](${file}#${path.join(' ').replaceAll(' ', '-')})\n`)
    .join('');
}

function entry({ path, command }: NamedCommand): string {
  const help = command
    .configureHelp({ ...command.configureHelp(), helpWidth: 100 })
    .helpInformation()
    .replaceAll(/[ \t]+$/gm, '')
    .trim();
  return `## \`${path.join(' ')}\`\n\n\`\`\`text\n${help}\n\`\`\`\n`;
}
