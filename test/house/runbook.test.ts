import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { exitStatus as exitStatusOfSignet } from '@signet/server/cli/exit-status';
import { StoreRefusedError } from '@signet/server/errors';
import { exitStatus as exitStatusOfUpdater } from '@signet/updater/exit-status';
import test from 'ava';
import { repository } from '#support/dev-world';

/* The runbook quotes what the programs say: a text that no program says, or a status that none ends with, misleads at the worst time. */

const runbook = readFileSync(join(repository, 'docs/guides/runbook.md'), 'utf8');

const sources = globSync('{server,updater,policy-engine,client,example-provider}/{src,bin}/**/*.{ts,js}', {
  cwd: repository,
})
  .map((file) => readFileSync(join(repository, file), 'utf8'))
  .join('\n')
  .replaceAll('\\`', '`');

/** The rows of the table below a heading cell. */
function firstCells(heading: string): string[] {
  const lines = runbook.split('\n');
  const at = lines.findIndex((line) => line.startsWith(`| ${heading} `));
  const rows = lines.slice(at + 2);
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith('|')),
    )
    .map((row) => row.split('|')[1]?.trim() ?? '');
}

test('every quoted text is one that a program says', (t) => {
  const prose = runbook.replace(/```[\s\S]*?```/g, '');
  const quoted = [...prose.matchAll(/"([^"]+)"/g)].map(([, text = '']) => text.replace(/\s+/g, ' '));
  const headings = new Set([...runbook.matchAll(/^#+ (.*)$/gm)].map(([, text]) => text));
  const unknown = quoted.filter((text) => !headings.has(text) && !sources.includes(text));
  t.true(quoted.length > 20);
  t.deepEqual(unknown, []);
});

test('every code of the policy engine is one that there is', (t) => {
  const codes = [...runbook.matchAll(/`((?:bundle|keys|directory|floor)-[a-z-]+)`/g)].map(([, code = '']) => code);
  t.true(codes.length > 8);
  t.deepEqual(
    codes.filter((code) => !sources.includes(`  | '${code}'`)),
    [],
  );
});

test('the exit statuses are those of the programs, all of them', (t) => {
  const refused = new StoreRefusedError('corrupt', '').exitStatus;
  const ofSignet = [...new Set([...Object.values(exitStatusOfSignet), refused])].map(String);
  t.deepEqual(firstCells('exit status'), ofSignet);
  t.deepEqual(firstCells('exit status of `signet-updater`'), Object.values(exitStatusOfUpdater).map(String));
});

test('the states of `signet-updater status` are those that it says', (t) => {
  const states = firstCells('state').map((cell) => cell.replaceAll('`', ''));
  t.is(states.length, 5);
  for (const state of states) t.regex(sources, new RegExp(`readonly state:.*'${state}'`), state);
});
