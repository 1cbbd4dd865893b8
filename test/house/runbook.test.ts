import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitStatus as exitStatusOfSignet } from '@signet/server/cli/exit-status';
import { StoreRefusedError } from '@signet/server/errors';
import { wholeProgram } from '@signet/server/program';
import { exitStatus as exitStatusOfUpdater } from '@signet/updater/exit-status';
import test from 'ava';
import { repository } from '#support/dev-world';

/* Messages, codes, statuses and commands that the runbook names exist. */

const runbook = readFileSync(join(repository, 'docs/guides/runbook.md'), 'utf8');
const prose = runbook.replace(/```[\s\S]*?```/g, '');
const sources = globSync('{server,updater,policy-engine,client,example-provider}/{src,bin}/**/*.{ts,js}', {
  cwd: repository,
})
  .map((file) => readFileSync(join(repository, file), 'utf8'))
  .join('\n')
  .replaceAll('\\`', '`');

const named = (form: RegExp): string[] => [...prose.matchAll(form)].map(([, text = '']) => text.replace(/\s+/g, ' '));

/** First cells of the table below a heading cell. */
function firstCells(heading: string): string[] {
  const [, table = ''] = runbook.split(`\n| ${heading} `);
  return [...table.replace(/\n(?!\|)[\s\S]*/, '').matchAll(/\n\| (?!-)([^|]+)/g)].map(([, cell = '']) => cell.trim());
}

test('messages and error codes exist', (t) => {
  const headings = named(/^#+ (.*)$/gm);
  const messages = named(/"([^"]+)"/g).filter((text) => !headings.includes(text));
  const codes = named(/`((?:bundle|keys|directory|floor)-[a-z-]+)`/g).map((code) => `  | '${code}'`);
  t.true(messages.length > 20 && codes.length > 8);
  t.deepEqual(
    [...messages, ...codes].filter((text) => !sources.includes(text)),
    [],
  );
});

test('exit statuses and states are those of the programs, all of them', (t) => {
  const refused = new StoreRefusedError('corrupt', '').exitStatus;
  const ofSignet = [...new Set([...Object.values(exitStatusOfSignet), refused])].map(String);
  t.deepEqual(firstCells('exit status'), ofSignet);
  t.deepEqual(firstCells('exit status of `signet-updater`'), Object.values(exitStatusOfUpdater).map(String));
  const states = firstCells('state').map((cell) => cell.replaceAll('`', ''));
  t.is(states.length, 5);
  for (const state of states) t.regex(sources, new RegExp(`readonly state:.*'${state}'`), state);
});

test('commands exist', async (t) => {
  const program = await wholeProgram();
  const commands = named(/`signet ([a-z][^`]*)`/g);
  t.true(commands.length > 20);
  for (const line of commands) {
    let command = program;
    for (const word of line.split(' ')) {
      const below = command.commands.find((each) => each.name() === word);
      if (below === undefined) {
        t.is(command.commands.length, 0, `there is no \`signet ${line}\``);
        if (word.startsWith('--')) t.true(word === '--help' || command.options.some(({ long }) => long === word), line);
        else t.true(command.registeredArguments.length > 0, line);
      } else command = below;
    }
  }
});
