import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { planText } from '@signet/server/cli/plan/plan-text';
import { fieldChanges, showMember, showService } from '@signet/server/management/field-changes';
import { planTotals } from '@signet/server/management/plan-totals';
import test, { type ExecutionContext } from 'ava';
import { signetScript } from '#support/dev-world';
import { accessOf, planOf, problemOf } from '#support/plans';
import { runProgram } from '#support/run-program';
import { runSignetIn } from '#support/run-signet';
import { temporaryFolder } from '#support/temp';

const pipe = new PassThrough();

test('a list that a server cut is said to be cut', (t) => {
  const text = planText(planOf([{}], { changesTotal: 12_000 }), pipe);
  t.true(text.includes('\n1 of 12000 changes are listed\n'), text);
});

test('each domain with its changes and access, the totals at the end', (t) => {
  const changes = [
    {
      change: 'change' as const,
      fields: [
        { field: 'enabled', before: 'true', after: 'false' },
        { field: 'trust', after: 'media' },
      ],
    },
    {
      kind: 'member' as const,
      name: 'viewer: media.player',
      fields: [{ field: 'expires', after: '2030-01-01T00:00:00.000Z' }],
    },
    { kind: 'domain' as const, name: 'films' },
  ];
  const impact = [accessOf('gain', 'media.player', 'films', 'film'), accessOf('gain', 'media.*', 'books', 'book')];
  t.is(
    planText(planOf(changes, { impact }), pipe),
    `books
  access: media.*: gains read on books:book (e.g. media.* read books:book)

films
  ~ role viewer
      enabled: true -> false
      trust: none -> media
  + member viewer: media.player
      expires: 2030-01-01T00:00:00.000Z
  + domain
  access: media.player: gains read on films:film (e.g. media.player read films:film)

2 to add, 1 to change, 0 to remove; 2 principals gain access, 0 lose access
3 cases passed
`,
  );
});

test('control characters of names and values are escaped', (t) => {
  const text = planText(
    planOf([{ name: 'a\u001b[31m\nb', fields: [{ field: 'description', after: '\u202e\n' }] }]),
    pipe,
  );
  t.true(text.includes('+ role a\\u001b[31m\\u000ab\n') && text.includes('description: "\\u202e\\n"\n'));
});

test('totals: assertions count for their policy, a principal counts once', (t) => {
  const policy = { kind: 'policy' as const, change: 'change' as const, name: 'p version 0' };
  const { changes } = planOf([policy, { kind: 'assertion', name: 'x' }, { change: 'delete' }]);
  const impact = ['a', 'b'].map((resource) => accessOf('gain', 'media.player', 'films', resource));
  t.deepEqual(planTotals(changes, impact), {
    add: 1,
    change: 0,
    remove: 1,
    access: { gain: 1, lose: 0, isExact: true },
  });
  t.deepEqual(
    planTotals(
      planOf([{ ...policy, fields: [{ field: 'active', before: 'true', after: 'false' }] }]).changes,
      undefined,
    ),
    {
      add: 0,
      change: 1,
      remove: 0,
    },
  );
});

test('fields: what differs, and of what is new what is not the default', (t) => {
  const member = { name: 'user.jane', disabled: false };
  t.deepEqual(fieldChanges(undefined, { ...member, expires: 0 }, showMember), [
    { field: 'expires', after: '1970-01-01T00:00:00.000Z' },
  ]);
  t.deepEqual(fieldChanges({ ...member, expires: 0 }, { ...member, disabled: true }, showMember), [
    { field: 'expires', before: '1970-01-01T00:00:00.000Z' },
    { field: 'disabled', before: 'false', after: 'true' },
  ]);
  const service = { name: 'api', enabled: true, hosts: [], publicKeys: [{ id: 'k', pem: 'one\ntwo\n' }] } as never;
  t.deepEqual(fieldChanges(service, { ...(service as object), hosts: ['a.b'], publicKeys: [] } as never, showService), [
    { field: 'publicKeys.k', before: 'one two' },
    { field: 'hosts', after: '["a.b"]' },
  ]);
});

function openWorld(t: ExecutionContext) {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'data'));
  mkdirSync(join(folder, 'docs'));
  writeFileSync(join(folder, 'signet.yaml'), 'tls: { certificate: c.pem, key: k.pem, clientCa: ca.pem }\n');
  const write = (name: string, text: string) => writeFileSync(join(folder, 'docs', name), text);
  const signet = (...args: readonly string[]) => runSignetIn(folder, '--config', 'signet.yaml', ...args);
  const run = async (...args: readonly string[]) => {
    const { status, stdout, stderr } = await signet(...args);
    t.is(status, 0, stderr);
    return stdout;
  };
  const fails = async (...args: readonly string[]) => {
    const { status, stdout, stderr } = await signet(...args);
    return [status, stdout, stderr] as const;
  };
  return { folder, write, run, fails };
}

test('colors on request alone where standard output is no terminal', async (t) => {
  const { folder, write, run } = openWorld(t);
  write('films.yaml', 'domain: films\n');
  await run('apply', 'docs');
  write('films.yaml', 'domain: films\nroles: { viewer: {} }\n');
  const { NO_COLOR: _, FORCE_COLOR: __, ...env } = process.env;
  const plan = async (more: NodeJS.ProcessEnv = {}) => {
    const args = [signetScript, '--config', 'signet.yaml', 'plan', 'docs'];
    return (await runProgram(process.execPath, args, { cwd: folder, env: { ...env, ...more } })).stdout;
  };
  const plain = await plan();
  t.true(
    plain.startsWith(
      'films\n  + role viewer\n\n1 to add, 0 to change, 0 to remove; no principal gains or loses access\n',
    ),
  );
  t.true((await plan({ FORCE_COLOR: '1' })).includes('\u001b[32m+ role viewer\u001b[39m'));
  t.is(await plan({ FORCE_COLOR: '0' }), plain);
  t.is(await plan({ NO_COLOR: '1' }), plain);
});

test('formats: JSON in two spellings, Markdown, and problems in both', async (t) => {
  const { write, run, fails } = openWorld(t);
  write('films.yaml', 'domain: films\nroles: { viewer: {} }\n');
  await run('apply', 'docs');
  const json = await run('plan', 'docs', '--format', 'json');
  t.is(await run('plan', 'docs', '--json'), json);
  t.like(JSON.parse(json), { changes: [], totals: { add: 0, access: { gain: 0 } } });
  t.is(
    await run('plan', 'docs', '--format', 'markdown'),
    '### Signet plan: nothing would change\n\n0 policy tests pass.\n',
  );
  t.is((await fails('plan', 'docs', '--json', '--format', 'text'))[0], 2);
  write('films.yaml', 'domain: films\nrolls: {}\n');
  const [status, out, err] = await fails('plan', 'docs', '--format', 'markdown');
  t.is(status, 1);
  t.regex(out, /^### Signet plan: problems in the documents: 1\n\n```diff\n- docs\/films\.yaml:2:1: rolls: /);
  t.regex(err, /^signet: docs\/films\.yaml:2:1: rolls: is not known here/);
  t.like(JSON.parse((await fails('plan', 'docs', '--json'))[1]), { problems: [{ field: 'rolls' }] });
});

test('strict: a warning is refused by test, plan and apply, with status 1', async (t) => {
  const { write, run, fails } = openWorld(t);
  write('films.yaml', 'domain: films\n');
  await run('apply', 'docs');
  write('films.yaml', 'domain: films\nroles: { viewer: { members: [film.api] } }\n');
  const warning =
    'docs/films.yaml:2:30: roles.viewer.members[0]: domain `film` does not exist: did you mean `films`?\n';
  t.is(await run('test', 'docs'), '0 passed, 0 failed\n');
  t.deepEqual(await fails('test', 'docs', '--strict'), [1, '0 passed, 0 failed\n', `signet: warning: ${warning}`]);
  const [status, , err] = await fails('plan', 'docs', '--strict');
  t.deepEqual([status, err], [1, `signet: would be refused: ${warning}`]);
  const refused = `signet: nothing was applied, problems in the documents: 1\n${warning}`;
  t.deepEqual(await fails('apply', 'docs', '--strict'), [1, '', refused]);
  t.regex(await run('apply', 'docs'), /^films: /);
});

test('a refusal is on standard error whatever the format', (t) => {
  t.is(planText(planOf([], { refusals: [problemOf(1)] }), pipe), 'nothing would change\n3 cases passed\n');
});
