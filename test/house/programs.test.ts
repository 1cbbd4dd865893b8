import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parse } from 'acorn';
import { simple } from 'acorn-walk';
import test from 'ava';
import { repository } from '#support/dev-world';
import { findOldNode } from '#support/old-node';
import { runProgram } from '#support/run-program';

/* Common behaviour of programs before their own work: a message for an old Node, a reader that stops early, and a full disk. */

const programs = {
  signet: 'server/bin/signet.js',
  'signet-updater': 'updater/bin/signet-updater.js',
  'signet-example-provider': 'example-provider/bin/signet-example-provider.js',
} as const;

for (const [name, file] of Object.entries(programs)) {
  test(`${name}: an older Node can read the program as far as the message`, (t) => {
    const source = readFileSync(join(repository, file), 'utf8');
    // Node 12 compatible: no `await` at the top, no `?.`, nothing imported before the check.
    const program = parse(source, { ecmaVersion: 2020, sourceType: 'module', allowHashBang: true });
    const [check, ...others] = program.body;
    t.is(check?.type, 'IfStatement');
    t.deepEqual(others, []);
    const newer: string[] = [];
    simple(program, { ChainExpression: () => newer.push('?.'), AwaitExpression: () => newer.push('await') });
    t.deepEqual(newer, []);
  });

  test(`${name}: an older Node is told in one line`, async (t) => {
    const old = await findOldNode();
    if (old === undefined) {
      t.log('skipped: there is no older Node on this machine');
      return t.pass();
    }
    const { status, stdout, stderr } = await runProgram(old, [join(repository, file), '--help']);
    t.is(status, 2);
    t.is(stdout, '');
    t.regex(stderr, new RegExp(`^${name} needs Node\\.js 24 or newer, this is \\d+\\.\\d+\\.\\d+: install it, .*\\n$`));
  });

  test(`${name}: a reader that stops early leads to no error`, async (t) => {
    const child = spawn(process.execPath, [join(repository, file), '--help'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.destroy();
    const [errors, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    t.is(errors, '');
    t.is(status, 0);
  });

  test(`${name}: a full disk under its output is told`, async (t) => {
    if (!existsSync('/dev/full')) return t.pass();
    const full = openSync('/dev/full', 'w');
    t.teardown(() => closeSync(full));
    const child = spawn(process.execPath, [join(repository, file), '--help'], { stdio: ['ignore', full, 'pipe'] });
    const errors: Promise<string> = child.stderr === null ? Promise.resolve('') : text(child.stderr);
    const [status] = await once(child, 'exit');
    t.is(await errors, `${name}: standard output cannot be written (ENOSPC)\n`);
    t.not(status, 0);
  });
}
