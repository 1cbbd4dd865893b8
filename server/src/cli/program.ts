import { Command, CommanderError } from 'commander';
import { accessCommand } from './access.ts';
import { applyCommand } from './apply.ts';
import { configCommand } from './config.ts';
import { devCommand } from './dev.ts';
import { identityCommand } from './identity.ts';
import { initCommand } from './init.ts';
import { instanceCommand } from './instance.ts';
import { keysCommand } from './keys.ts';
import { exitStatus } from './run.ts';
import { serveCommand } from './serve.ts';
import { testCommand } from './test.ts';
import { tokenCommand } from './token.ts';

/** Every command of `signet`, in the order of the help text. */
const commands: readonly (() => Command)[] = [
  initCommand,
  serveCommand,
  devCommand,
  applyCommand,
  testCommand,
  tokenCommand,
  accessCommand,
  identityCommand,
  instanceCommand,
  keysCommand,
  configCommand,
];

/** The command line: what it takes, and nothing of what it does. */
export function createProgram(version: string): Command {
  const program = new Command('signet')
    .description('Machine identity and authorization: token server and its tools')
    .version(version)
    .option('--config <file>', 'configuration file (default: SIGNET_CONFIG, else .signet/signet.yaml)')
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'signet: ')) });
  for (const create of commands) {
    const command = create();
    inherit(command, program);
    program.addCommand(command);
  }
  return program;
}

/** A command made apart from its program has none of its settings. */
function inherit(command: Command, parent: Command): void {
  command.copyInheritedSettings(parent);
  for (const below of command.commands) inherit(below, command);
}

/** Runs one command line and answers its exit status; `process.exitCode` is what the command itself decided. */
export async function runProgram(program: Command, argv: readonly string[]): Promise<number> {
  try {
    await program.parseAsync([...argv], { from: 'user' });
    return Number(process.exitCode ?? exitStatus.done);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    const asked = error.exitCode === 0;
    return asked ? exitStatus.done : exitStatus.usage;
  }
}
