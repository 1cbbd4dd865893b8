import { describeError } from '@signet/server/cli/run';
import { ConflictError, InvalidDocumentError } from '@signet/server/errors';
import test from 'ava';
import { runProgram } from '#support/run-program';

const forged = 'fixed\n2026-01-01  sys.auth.operator  delete\u001b[2K\u202egpj\u0000';
const shown = 'fixed\\u000a2026-01-01  sys.auth.operator  delete\\u001b[2K\\u202egpj\\u0000';

async function printed(value: unknown, json = false): Promise<string> {
  const script = `import { print } from ${JSON.stringify(import.meta.resolve('@signet/server/cli/run'))}; print(JSON.parse(process.argv[1]), ${json})`;
  const args = ['--conditions=@signet/source', '--input-type=module', '--eval', script, '--', JSON.stringify(value)];
  const { stdout, stderr } = await runProgram(process.execPath, args);
  if (stderr !== '') throw new Error(stderr);
  return stdout;
}

test('no text of others makes a line of its own', async (t) => {
  t.is(await printed([{ id: 1, reason: forged }]), `id  reason\n1   ${shown}\n`);
  t.is(await printed({ reason: forged }), `reason  ${shown}\n`);
  const [line, ...more] = (await printed({ reason: `${forged}\u009b2K` }, true)).split('\n');
  t.deepEqual(more, ['']);
  t.regex(line ?? '', /^[\x20-\x7e]+$/);
  t.deepEqual(JSON.parse(line ?? ''), { reason: `${forged}\u009b2K` });
  t.is(describeError(new Error(`no file \`${forged}\``)), `no file \`${shown.replace('\\u000a', ' ')}\``);
  const told = describeError(new ConflictError('one\ntwo\u001b[2K'));
  t.is(told, 'one\\u000atwo\\u001b[2K');
  const problem = { file: 'c.yaml', line: 3, column: 3, message: 'is not a name' };
  const problems = ['roles.a\nsignet: all is well', 'roles.b'].map((field) => ({ ...problem, field }));
  t.is(
    describeError(new InvalidDocumentError(problems)),
    'c.yaml:3:3: roles.a\\u000asignet: all is well: is not a name\nc.yaml:3:3: roles.b: is not a name',
  );
});

test('every character that turns, hides or moves what is shown is written out, in keys and lists too', async (t) => {
  const turning = '\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u00ad\ufeff\u{e0041}';
  const codes = [...Array(turning.length)].map((_, at) => `\\u${turning.charCodeAt(at).toString(16).padStart(4, '0')}`);
  const written = codes.join('');
  t.is(await printed({ [turning]: turning }), `${written}  ${written}\n`);
  t.is(await printed([turning, 'b']), `${written}\nb\n`);
  t.is(await printed(`a${turning}\n\tb\u001b[2K`), `a${written}\n\tb\\u001b[2K\n`);
  t.is(await printed({ a: turning }, true), `{"a":"${written}"}\n`);
  t.deepEqual(JSON.parse(await printed({ a: turning }, true)), { a: turning });
});

test('a list of nothing has no line, and is a list in JSON', async (t) => {
  t.is(await printed([]), '');
  t.is(await printed([], true), '[]\n');
});

test('a text that is the whole answer stays as it is', async (t) => {
  t.is(await printed('-----BEGIN KEY-----\nabc\n'), '-----BEGIN KEY-----\nabc\n\n');
});
