import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { assertWithin } from '#support/cost';
import { runBlock } from '#support/guide';
import { temporaryFolder } from '#support/temp';

/* Files of up to 16 MiB that are made to cost much: `signet import athenz` takes or refuses them in seconds of processor time. */

const most = 16 * 1024 * 1024 - 100;
const filled = (start: string, item: string, end: string) =>
  start + item.repeat(Math.floor((most - start.length - end.length) / item.length)) + end;
const many = (count: number, make: (index: number) => unknown) =>
  Array.from({ length: count }, (_, index) => make(index));
const role = (roleMembers: readonly unknown[]) => ({ name: 'films:role.a', roleMembers });
const policies = (list: readonly unknown[]) => ({ contents: { policies: list } });

const files: Readonly<Record<string, string>> = {
  'numbers in place of roles': filled('{"name":"films","roles":[', '1,', '1]}'),
  'members without a name': filled('{"name":"films","roles":[{"name":"films:role.a","roleMembers":[', '{},', '{}]}]}'),
  'lists inside each other': '['.repeat(most),
  'members that nobody knows': `{"name":"films",${many(300_000, (index) => `"k${index}":1`).join()}}`,
  'a line of blanks': `domain:\n    name: films\n    description: x${' '.repeat(4_000_000)}x\n`,
  'versions of one policy': JSON.stringify({
    name: 'films',
    policies: policies(many(100_000, (index) => ({ name: 'films:policy.p', version: `v${index}`, active: false }))),
  }),
  'patterns beside disabled members': JSON.stringify({
    name: 'films',
    roles: [
      role(many(100_000, (i) => (i % 2 ? { memberName: `m.${i}*` } : { memberName: `x.${i}`, systemDisabled: 1 }))),
    ],
  }),
  'patterns of roles': JSON.stringify({
    name: 'films',
    roles: many(3000, (index) => ({ name: `films:role.r${index}` })),
    policies: policies([
      {
        name: 'films:policy.p',
        assertions: many(20_000, (i) => ({ role: `films:role.*x${i}`, action: 'a', resource: 'films:x' })),
      },
    ]),
  }),
  'YAML of many names': `name: films\n${many(100_000, (index) => `k${index}: 1\n`).join('')}`,
};

test('no file costs more than half a minute of processor time, and each ends with a result or one line', async (t) => {
  t.timeout(600_000);
  const folder = temporaryFolder(t);
  for (const [what, text] of Object.entries(files)) {
    writeFileSync(join(folder, 'hostile'), text);
    const command = 'set +e; signet import athenz hostile --out document --force 2>said >/dev/null; echo $?; times';
    const { stdout } = await runBlock(folder, folder, command);
    const [status = '', , children = ''] = stdout.trim().split('\n');
    t.regex(status, /^[01]$/, what);
    const seconds = [...children.matchAll(/(\d+)m([\d.]+)s/g)].map(
      ([, minutes, rest]) => Number(minutes) * 60 + Number(rest),
    );
    t.is(seconds.length, 2);
    assertWithin(t, `${what} (${text.length} characters)`, (seconds[0] ?? 0) + (seconds[1] ?? 0), 30, 's');
  }
});
