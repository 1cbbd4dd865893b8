import { generateKeyPairSync, sign } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { type DevWorld, repository, startDevWorld } from '#support/dev-world';
import { blocksOf, runBlock } from '#support/guide';
import { field } from '#support/instance-world';

/* A domain of Athenz comes to a real server as the guide says, and the server decides about it as Athenz did. */

const zms = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pem = zms.publicKey.export({ type: 'spki', format: 'pem' }).toString();
const ybase64 = (text: string) =>
  Buffer.from(text).toString('base64').replaceAll('+', '.').replaceAll('/', '_').replaceAll('=', '-');
const base64url = (text: string) => Buffer.from(text).toString('base64url');

const films = {
  name: 'films',
  modified: '2026-01-02T03:04:05.678Z',
  tokenExpiryMins: 60,
  tags: { owner: { list: ['media'] } },
  roles: [
    { name: 'films:role.admin', roleMembers: [{ memberName: 'sys.auth.operator' }] },
    { name: 'films:role.viewer', roleMembers: [{ memberName: 'media.pl*' }, { memberName: 'films:group.critics' }] },
    {
      name: 'films:role.former',
      roleMembers: [{ memberName: 'media.player', expiration: '2026-01-01T00:00:00.000Z' }],
    },
    { name: 'films:role.banned', roleMembers: [{ memberName: 'media.guest' }] },
  ],
  groups: [{ name: 'films:group.critics', groupMembers: [{ memberName: 'media.guest' }] }],
  policies: {
    contents: {
      domain: 'films',
      policies: [
        {
          name: 'films:policy.watching',
          assertions: [
            { role: 'films:role.viewer', action: 'watch', resource: 'films:film.*', id: 1 },
            { role: 'films:role.banned', action: 'watch', resource: 'films:film.secret', effect: 'DENY', id: 2 },
            { role: 'films:role.former', action: 'edit', resource: 'films:film.*', effect: 'ALLOW', id: 3 },
          ],
        },
      ],
    },
  },
  services: [{ name: 'films.api', publicKeys: [{ id: 'v1', key: ybase64(pem) }] }],
};

function jws(domain: object, signedDomain = domain): string {
  const head = base64url(JSON.stringify({ kid: 'zms-1', alg: 'ES256' }));
  const input = Buffer.from(`${head}.${base64url(JSON.stringify(signedDomain))}`);
  const signature = sign('sha256', input, zms.privateKey).toString('base64url');
  return JSON.stringify({
    payload: base64url(JSON.stringify(domain)),
    protected: head,
    header: { kid: 'zms-1' },
    signature,
  });
}

/** Access in Athenz, by hand: principal, action, resource. */
const decisions = [
  ['media.player', 'watch', 'film.one', true],
  ['media.player', 'watch', 'film.secret', true],
  ['media.player', 'edit', 'film.one', false],
  ['media.guest', 'watch', 'film.one', true],
  ['media.guest', 'watch', 'film.secret', false],
  ['media.guest', 'WATCH', 'FILM.SECRET', false],
  ['media.studio', 'watch', 'film.one', false],
  ['media.player', 'watch', 'film', false],
] as const;

test('every command of the guide for those who come from Athenz does what it says', async (t) => {
  t.timeout(300_000);
  const world: DevWorld = await startDevWorld();
  t.teardown(() => world.remove());
  const { baseUrl, caBundle, identities } = world.state;
  const folder = join(world.folder, '..', 'moving');
  mkdirSync(folder);
  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  write('films.json', JSON.stringify(films));
  write('films.jws', jws(films));
  write('forged.jws', jws({ ...films, enabled: false }, films));
  write('athenz-of-today.conf', JSON.stringify({ zmsPublicKeys: [{ id: 'zms-1', key: ybase64(pem) }] }));
  const { cert = '', key = '' } = identities['media.player'] ?? {};
  for (const [from, name] of [
    [cert, 'host.cert.pem'],
    [key, 'host.key.pem'],
    [caBundle, 'ca.pem'],
  ] as const) {
    copyFileSync(from, join(folder, name));
  }
  const outputs: string[] = [];
  const guide = readFileSync(join(repository, 'docs/guides/coming-from-athenz.md'), 'utf8');
  const blocks = blocksOf(guide);
  t.true(blocks.length > 6);
  for (const { text, kind } of blocks) {
    const finished = await runBlock(
      folder,
      world.folder,
      text.replaceAll('https://zts.example.com:4443/zts/v1', baseUrl),
    );
    t.is(finished.status, kind === 'refused' ? 1 : 0, `${text}\n${finished.stdout}${finished.stderr}`);
    outputs.push(finished.stdout + finished.stderr);
  }
  const all = outputs.join('');
  for (const said of [
    /`tags` of the domain is not imported \(1\): films/,
    /members are patterns.*\(1\): viewer: media\.pl\*/,
    /"document":\{"domain":"films"/,
    /`forged\.jws`: signature: is not one of key `zms-1` for this content/,
    /`films\.json`: the file is not signed/,
    /would be refused: domains\/films\.yaml:\d+:\d+: roles\.viewer\.members\[\d\]: /,
    /^films: created, version 1$/m,
  ]) {
    t.regex(all, said);
  }
  t.deepEqual(Object.keys(JSON.parse(readFileSync(join(folder, 'athenz.conf'), 'utf8'))).length, 4);
  t.is(readFileSync(join(folder, 'domains/films.yaml'), 'utf8').includes(pem.trim().split('\n')[1] ?? '-'), true);
  for (const [principal, action, resource, granted] of decisions) {
    const question = `signet access check ${action} films:${resource} --principal ${principal} --as sys.auth.operator --json`;
    const { stdout } = await runBlock(folder, world.folder, `${question} || true`);
    t.is(field(JSON.parse(stdout), 'granted'), granted, `${question}: ${stdout}`);
  }
  const again = await runBlock(folder, world.folder, 'signet plan domains --allow-wildcard --fail-on any');
  t.is(again.status, 0, again.stderr);
  t.regex(again.stdout, /^nothing would change$/m);
});
