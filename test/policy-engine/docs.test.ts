import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type PolicyEngineErrorCode, statuses, statusMeaning, statusRemedy } from '@signet/policy-engine';
import { createTestAuthority, TestClock } from '@signet/policy-engine/testing';
import test from 'ava';
import { exportsOf } from '#support/exports';
import { temporaryFolder } from '#support/temp';

/* The documents of the package say what the code does: compared both ways, and their examples run. */

const room = fileURLToPath(new URL('../../policy-engine', import.meta.url));
const tests = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(join(room, 'README.md'), 'utf8');
const source = (file: string): string => readFileSync(join(room, 'src', file), 'utf8');

/** The text of a section, without its heading. */
function section(heading: string): string {
  const [, rest = ''] = readme.split(`\n## ${heading}\n`);
  return rest.split('\n## ')[0] ?? '';
}

/** The names in backticks of one column of all tables of a section, in their order. */
function column(heading: string, index: number): string[] {
  const rows = section(heading)
    .split('\n')
    .filter((line) => line.startsWith('| '));
  return rows.flatMap((row) =>
    [...(row.split('|')[index + 1] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  );
}

function members(file: string, name: string): string[] {
  const [, body = ''] = new RegExp(`interface ${name}\\b[^{]*\\{\\n([\\s\\S]*?)\\n\\}`).exec(source(file)) ?? [];
  return [...body.matchAll(/^ {2}(\w+)\??[:(]/gm)].map(([, member = '']) => member);
}

const sorted = (names: Iterable<string>): string[] => [...new Set(names)].sort();

const manifest: { exports: Record<string, string | { '@signet/source': string }> } = JSON.parse(
  readFileSync(join(room, 'package.json'), 'utf8'),
);
const entries = Object.entries(manifest.exports).flatMap(([path, target]) =>
  typeof target === 'string' || path.startsWith('./internal/')
    ? []
    : [{ path, file: join(room, target['@signet/source']) }],
);

test('the table of entries names every export of every entry, and nothing else', async (t) => {
  const actual = new Map<string, { values: string[]; types: string[] }>();
  for (const { path, file } of entries) {
    const found = exportsOf(file);
    t.deepEqual(found.values, Object.keys(await import(`@signet/policy-engine${path.slice(1)}`)).sort(), path);
    actual.set(`@signet/policy-engine${path.slice(1)}`, found);
  }
  const names = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
  const documented = section('Entries and what is promised')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|'))
    .map(([, entry = '', values = '', types = '']) => [
      names(entry)[0],
      { values: names(values), types: names(types) },
    ]);
  t.deepEqual(documented, [...actual]);
});

test('the table of statuses is the closed list, with its meanings', (t) => {
  t.deepEqual(column('Statuses', 0), [...statuses]);
  for (const status of statuses) {
    const row = section('Statuses')
      .split('\n')
      .find((line) => line.startsWith(`| \`${status}\` `));
    const [, , meaning = '', advice = ''] = row?.split('|') ?? [];
    if (status !== 'DENY_TOKEN_EXPIRED') t.is(meaning.trim(), statusMeaning(status));
    t.is(advice.trim(), statusRemedy(status));
  }
});

test('the table of errors names every code', (t) => {
  const [, union = ''] = /PolicyEngineErrorCode =([^;]*);/.exec(source('errors.ts')) ?? [];
  const codes = [...union.matchAll(/'([^']+)'/g)].map(([, code = '']) => code as PolicyEngineErrorCode);
  t.true(codes.length > 10);
  t.deepEqual(column('Errors', 0), codes);
});

const tables: [heading: string, interfaces: [file: string, name: string][]][] = [
  [
    'Options',
    [
      ['engine/requests.ts', 'EngineOptions'],
      ['engine/requests.ts', 'OpenOptions'],
      ['loader/policy-directory.ts', 'DirectoryOptions'],
      ['loader/policy-directories.ts', 'DirectoriesOptions'],
    ],
  ],
  [
    'Keys',
    [
      ['keys/remote-keys.ts', 'RemoteKeys'],
      ['loader/open-keys.ts', 'NodeRemoteKeys'],
    ],
  ],
  [
    'Middleware',
    [
      ['middleware/protect-options.ts', 'ProtectOptions'],
      ['middleware/request-rule.ts', 'RuleOptions'],
      ['middleware/connection-certificate.ts', 'ConnectionOptions'],
      ['middleware/fetch.ts', 'FetchProtectOptions'],
    ],
  ],
];
for (const [heading, interfaces] of tables) {
  test(`the table of ${heading} names every option, and nothing else`, (t) => {
    const actual = interfaces.flatMap(([file, name]) => members(file, name));
    t.true(actual.length > 4);
    t.deepEqual(sorted(column(heading, 0)), sorted(actual));
  });
}

test('the options of records and proxies are named', (t) => {
  const named = (where: string, names: string[]) => names.filter((name) => !section(where).includes(`\`${name}\``));
  const records = members('records/decision-recorder.ts', 'RecordOptions').filter((name) => name !== 'random');
  t.deepEqual(named('Options', records), []);
  t.deepEqual(named('Middleware', members('middleware/proxy-certificate.ts', 'TrustedProxies')), []);
});

test('the public members of the engine are described', (t) => {
  const methods = [...source('engine.ts').matchAll(/^ {2}(?:static )?(?:async )?([a-z]\w+)\(/gm)].map(
    ([, name = '']) => name,
  );
  const described = column('What an engine does', 0).map((name) => name.replace('PolicyEngine.', ''));
  t.deepEqual(sorted(described), sorted(methods.filter((name) => name !== 'constructor')));
});

const node = (program: string) =>
  [
    process.execPath,
    ['--conditions=@signet/source', '--input-type=module', '--eval', program],
    { cwd: tests },
  ] as const;

const examples = [...readme.matchAll(/```js run\n([\s\S]*?)```\n\nIt prints ([^\n]*)/g)];
test('every example that can be run is followed by what it prints', (t) => {
  t.is(examples.length, readme.split('```js run').length - 1);
  t.true(examples.length >= 4);
});
for (const [index, [, program = '', prints = '']] of examples.entries()) {
  test(`example ${index + 1} prints what the text says`, async (t) => {
    const { stdout } = await promisify(execFile)(...node(program));
    const sentence = prints.split('. ')[0] ?? '';
    t.deepEqual(
      stdout.trim().split('\n'),
      [...sentence.matchAll(/`([^`]+)`/g)].map(([, line]) => line),
    );
  });
}

test('the ten lines at the beginning protect an endpoint', async (t) => {
  const [, program = ''] = /```js\n([\s\S]*?)```/.exec(section('From nothing to a protected endpoint')) ?? [];
  t.true(program.trim().split('\n').length <= 10);
  const authority = await createTestAuthority({ clock: new TestClock(performance.timeOrigin) });
  const folder = temporaryFolder(t);
  const assertions = [{ role: 'reader', action: 'read', resource: 'movie' }];
  await authority.writeBundle(folder, { domain: 'catalog', policies: [{ name: 'catalog:policy.p', assertions }] });
  const [own, client] = [authority.certificate('catalog.api'), authority.certificate('media.player')];
  const tls = { cert: own.pem, key: own.key, ca: authority.ca.pem };
  let changed = program.replace('/var/lib/signet/policy', folder);
  changed = `const tls = ${JSON.stringify(tls)};\n${changed}`;
  changed = changed.replace('.listen(8443)', '.listen(0, function () { console.log(this.address().port) })');
  const child = spawn(...node(changed));
  t.teardown(() => child.kill());
  const [port] = await once(child.stdout, 'data');
  const token = await authority.token({ domain: 'catalog', roles: ['reader'], certificate: client });
  const call = async (headers: Record<string, string>, tls: { cert?: string; key?: string }) => {
    const asked = request(`https://localhost:${Number(String(port))}/movie`, {
      agent: false,
      ca: authority.ca.pem,
      headers,
      ...tls,
    });
    asked.end();
    const [answer] = await once(asked, 'response');
    return [answer.statusCode, JSON.parse(await text(answer))];
  };
  const authorization = `Bearer ${token}`;
  t.deepEqual(await call({ authorization }, { cert: client.pem, key: client.key }), [200, { title: 'Nosferatu' }]);
  t.is((await call({}, { cert: client.pem, key: client.key }))[0], 403);
  t.is((await call({ authorization }, {}))[0], 403);
});
