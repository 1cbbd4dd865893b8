import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { runSignet } from '#support/run-signet';
import { temporaryFolder } from '#support/temp';

const document = `domain: films
roles:
  viewer:
    members: [user.jane]
policies:
  watching:
    - { effect: ALLOW, action: watch, resource: film, role: viewer }
    - { effect: DENY, action: watch, resource: film, role: viewer, conditions: [{ instances: foyer }] }
    - { effect: ALLOW, action: rate, resource: film, role: viewer }
    - { effect: DENY, action: rate, resource: film, role: viewer }
`;

function list(t: ExecutionContext, ...more: readonly string[]) {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'films.yaml'), document);
  return runSignet('access', 'list', '--documents', folder, ...more);
}

const through = 'through role viewer (member user.jane), by policy films:policy.watching';

for (const [note, words, lines] of [
  [
    'what a principal may do',
    ['--principal', 'user.jane'],
    [
      `ALLOW watch on films:film ${through}`,
      `DENY watch on films:film where instances is foyer ${through}`,
      `ALLOW rate on films:film, denied by another assertion, ${through}`,
      `DENY rate on films:film ${through}`,
    ],
  ],
  [
    'of one action',
    ['--principal', 'user.jane', '--action', 'rate', '--domain', 'films'],
    [`ALLOW rate on films:film, denied by another assertion, ${through}`, `DENY rate on films:film ${through}`],
  ],
  ['nothing', ['--principal', 'user.joe'], ['nothing']],
] as const) {
  test(`access list: ${note}`, async (t) => {
    const { status, stdout, stderr } = await list(t, ...words);
    t.deepEqual({ status, stderr, lines: stdout.trim().split('\n') }, { status: 0, stderr: '', lines: [...lines] });
  });
}

test('access list: as JSON, and without a principal', async (t) => {
  const [entry] = JSON.parse((await list(t, '--principal', 'user.jane', '--json')).stdout);
  t.like(entry, { domain: 'films', policy: 'films:policy.watching', effect: 'ALLOW', action: 'watch' });
  t.is((await list(t)).status, 2);
});
