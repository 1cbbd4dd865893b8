import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { environmentName } from '@signet/server/config/env';
import { wholeProgram } from '@signet/server/program';
import test, { type ExecutionContext } from 'ava';
import { repository } from '#support/dev-world';
import { temporaryFolder } from '#support/temp';

/* The units of deploy/systemd: systemd's own tools judge them, and what they call is what the programs take. */

const folder = join(repository, 'deploy', 'systemd');
const units = globSync('*.{service,timer}', { cwd: folder }).toSorted();
const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const program = await wholeProgram();

const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

/** The units as systemd takes them, with a program that is there. */
function installed(t: ExecutionContext): string {
  const into = temporaryFolder(t);
  for (const name of units)
    writeFileSync(join(into, name), read(name).replaceAll(/\/opt\/signet\/bin\/[\w-]+/g, '/bin/true'));
  return into;
}

function analyze(t: ExecutionContext, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync('systemd-analyze', args, { cwd: installed(t), encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

function skipped(t: ExecutionContext): boolean {
  if (!hasSystemd) t.log('skipped: systemd-analyze is not on this machine');
  return !hasSystemd;
}

test('systemd finds nothing to complain of in the units', (t) => {
  t.is(units.length, 6);
  if (skipped(t)) return t.pass();
  t.deepEqual(analyze(t, 'verify', '--man=no', ...units.map((name) => `./${name}`)), { status: 0, said: '' });
});

for (const name of units.filter((unit) => unit.endsWith('.service'))) {
  test(`${name} is exposed to 1.5 of 10 at most`, (t) => {
    if (skipped(t)) return t.pass();
    const { said } = analyze(t, 'security', '--offline=true', `./${name}`);
    const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(said)?.[1]);
    t.true(exposure <= 1.5, said);
  });

  test(`${name} calls what its program takes, as a user that is made, with the state that is made`, (t) => {
    const text = read(name);
    const [, path = '', line = ''] = /^ExecStart=\/opt\/signet\/bin\/([\w-]+) (.*)$/m.exec(text) ?? [];
    const words = line.split(' ');
    if (path === 'signet') {
      const known = ['--config', ...optionsOf(words)];
      t.deepEqual(
        words.filter((word) => word.startsWith('--') && !known.includes(word)),
        [],
      );
    } else t.regex(line, /^(run|once) --config \/etc\/signet\/updater\.yaml$/);
    const [, user] = /^User=(.*)$/m.exec(text) ?? [];
    t.regex(read('signet.sysusers.conf'), new RegExp(`^u ${user} `, 'm'));
    t.regex(read('signet.tmpfiles.conf'), new RegExp(`^d /var/lib/${user} 0\\d+ ${user} ${user}$`, 'm'));
    t.notRegex(text, /^MemoryDenyWriteExecute=/m, 'V8 writes code while it runs');
  });
}

/** The options of the command that the words name, and of those above it. */
function optionsOf(words: readonly string[]): string[] {
  const found: string[] = [];
  let command = program;
  for (const word of words) {
    const next = command.commands.find((each) => each.name() === word);
    if (next === undefined) continue;
    command = next;
    found.push(...command.options.flatMap(({ long }) => long ?? []));
  }
  return found;
}

test('what a person has to repair is not started again and again', (t) => {
  const runbook = readFileSync(join(repository, 'docs', 'guides', 'runbook.md'), 'utf8');
  const [line = ''] = /RestartPreventExitStatus=[\d ]+/.exec(runbook) ?? [];
  t.true(read('signet.service').split('\n').includes(line), `the runbook promises ${line}`);
});

test('the folders that units read are made', (t) => {
  const made = read('signet.tmpfiles.conf');
  for (const name of units) {
    for (const [, path = ''] of read(name).matchAll(/^EnvironmentFile=(.*)\/[^/]+$/gm))
      t.true(made.includes(`d ${path} `), path);
  }
});

test('the server may be told by systemd where its sealing key is', (t) => {
  t.true(read('signet.service').includes(`${environmentName('keys.sealingKeyFile')}=%d/sealing.key`));
});
