import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { UsageError } from './usage-error.ts';

/** Terminal on which a person is asked. */
interface Terminal {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
}

/** Standard input and standard error, when both are a terminal: standard output may be a file. */
function ownTerminal(): Terminal | undefined {
  const { stdin, stderr } = process;
  return stdin.isTTY && stderr.isTTY ? { input: stdin, output: stderr } : undefined;
}

export function canAsk(): boolean {
  return ownTerminal() !== undefined;
}

/** Answer of a person on a terminal; the empty answer is `usual`. Undefined without a terminal. */
export async function ask(question: string, usual: string, terminal = ownTerminal()): Promise<string | undefined> {
  if (terminal === undefined) return undefined;
  return (await answerTo(`${question} [${usual}]: `, terminal, terminal.output)).trim() || usual;
}

/** Answer to a question of yes or no; the empty answer is no. Undefined without a terminal. Throws `UsageError` for any other word. */
export async function askWhether(question: string, terminal = ownTerminal()): Promise<boolean | undefined> {
  const answer = (await ask(question, 'no', terminal))?.toLowerCase();
  if (answer === undefined) return undefined;
  if (answer === 'y' || answer === 'yes') return true;
  if (answer === 'n' || answer === 'no') return false;
  throw new UsageError(`answer: must be yes or no, got \`${answer}\``);
}

/** The same for a secret: what is typed is not shown. */
export async function askHidden(question: string, terminal = ownTerminal()): Promise<string | undefined> {
  if (terminal === undefined) return undefined;
  terminal.output.write(question);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const answer = await answerTo('', terminal, nowhere);
  terminal.output.write('\n');
  return answer;
}

/** Line read in terminal mode, where nothing is echoed: the text to show is written to `shown`. */
async function answerTo(question: string, { input }: Terminal, shown: NodeJS.WritableStream): Promise<string> {
  const lines = createInterface({ input, output: shown, terminal: true, historySize: 0 });
  const closed = new Promise<never>((_, reject) => {
    lines.once('close', () => reject(new Error('the prompt was not answered')));
  });
  try {
    return await Promise.race([lines.question(question), closed]);
  } finally {
    lines.close();
  }
}
