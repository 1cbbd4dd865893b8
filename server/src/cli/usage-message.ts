import { didYouMean } from '@signet/policy-engine/internal/nearest';
import type { Command } from 'commander';

/**
 * Message for a command line that commander refused. Commander looks for missing options first: a mistyped option beside a required one is named
 * here instead, as it is the mistake.
 */
export function usageMessage(text: string, program: Command, argv: readonly string[]): string {
  const unknown = text.startsWith('error: required option') ? unknownOption(program, argv) : undefined;
  const message =
    unknown ??
    text
      .replace(/^error: /, '')
      .replace(/\n\(Did you mean (.+)\?\)/, ': did you mean `$1`?')
      .trimEnd();
  return argv.includes('--json') ? `${JSON.stringify({ error: message })}\n` : `signet: ${message}\n`;
}

/** The first option of the line that its command does not have, with the nearest that it has. */
function unknownOption(program: Command, argv: readonly string[]): string | undefined {
  let command = program;
  const known = [...program.options];
  for (let at = 0; at < argv.length && argv[at] !== '--'; at += 1) {
    const word = argv[at] ?? '';
    const [name = ''] = word.split('=', 1);
    const option = known.find(({ short, long }) => name === short || name === long);
    if (option !== undefined) {
      if (option.required && !word.includes('=')) at += 1;
    } else if (name.startsWith('--')) {
      const names = known.flatMap(({ long }) => (long === undefined ? [] : [long]));
      return `unknown option '${name}'${didYouMean(name, names)}`;
    } else {
      command = command.commands.find((below) => below.name() === word) ?? command;
      known.push(...command.options);
    }
  }
  return undefined;
}
