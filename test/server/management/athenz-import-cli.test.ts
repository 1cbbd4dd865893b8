import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { runBlock } from '#support/guide';
import { field } from '#support/instance-world';
import { temporaryFolder } from '#support/temp';

const films = { name: 'films', roles: [{ name: 'films:role.admin', roleMembers: [{ memberName: 'user.jane' }] }] };

test('what is read is bounded, and nothing is written over', async (t) => {
  const folder = temporaryFolder(t);
  const run = (text: string) => runBlock(folder, folder, text);
  writeFileSync(join(folder, 'films.json'), JSON.stringify(films));
  const limit = 16 * 1024 * 1024;
  const padded = JSON.stringify(films).padEnd(limit, ' ');
  writeFileSync(join(folder, 'most.json'), padded);
  writeFileSync(join(folder, 'more.json'), `${padded} `);
  t.is((await run('signet import athenz most.json')).status, 0, 'exactly the bound');
  const more = await run('signet import athenz more.json');
  t.deepEqual([more.status, more.stdout, more.stderr], [1, '', 'signet: `more.json` is larger than 16 MiB\n']);
  const endless = await run('yes | signet import athenz - 2>&1');
  t.deepEqual([endless.status, endless.stdout], [1, 'signet: `-` is larger than 16 MiB\n']);
  const piped = await run('signet import athenz - --json < films.json');
  t.is(field(field(JSON.parse(piped.stdout), 'document'), 'domain'), 'films');
  writeFileSync(join(folder, 'binary'), Buffer.from([0x7b, 0xff]));
  t.regex((await run('signet import athenz binary')).stderr, /^signet: `binary`: is not UTF-8 text\n$/);
  t.regex((await run('signet import athenz none.json')).stderr, /^signet: .*none\.json.*\n$/);
  t.is((await run('signet import athenz films.json --out films.yaml')).status, 0);
  const twice = await run('signet import athenz films.json --out films.yaml');
  t.deepEqual([twice.status, /`films\.yaml` exists/.test(twice.stderr)], [1, true]);
  t.is((await run('signet import athenz films.json --out films.yaml --force')).status, 0);
  t.is((await run('signet import athenz films.json --force')).status, 2);
  t.regex((await run('signet completion bash')).stdout, /'import athenz'\) words='--out --force --keys --json --help'/);
});
