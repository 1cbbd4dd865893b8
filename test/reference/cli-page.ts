import type { createProgram } from '@signet/updater/program';

type Command = ReturnType<typeof createProgram>;

/** A program with its commands, and what its page says first. */
export interface ProgramPage {
  readonly program: Command;
  readonly text: string;
}

/** `docs/reference/cli.md`: every command with its help. */
export function cliPage(programs: readonly ProgramPage[]): string {
  const pages = programs.map(({ program, text }) => {
    const commands = leaves(program, [program.name()]).map(({ path, command }) => entry(path, command));
    return `## ${program.name()}\n\n${text}\n\n${commands.join('\n')}`;
  });
  return `# Command line\n\nEvery command with what \`--help\` prints, made by \`npm run reference\`.\n\n${pages.join('\n')}`;
}

interface NamedCommand {
  readonly path: readonly string[];
  readonly command: Command;
}

/** The program itself, then every command below it, each before its own commands. */
function leaves(command: Command, path: readonly string[]): NamedCommand[] {
  const below = command.commands.flatMap((each) => leaves(each, [...path, each.name()]));
  return [{ path, command }, ...below];
}

function entry(path: readonly string[], command: Command): string {
  const help = command
    .configureHelp({ ...command.configureHelp(), helpWidth: 100 })
    .helpInformation()
    .replaceAll(/[ \t]+$/gm, '')
    .trim();
  return `### \`${path.join(' ')}\`\n\n\`\`\`text\n${help}\n\`\`\`\n`;
}
