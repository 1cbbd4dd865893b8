import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { decodeProtectedHeader } from 'jose';
import { type DevWorld, repository, startDevWorld } from '#support/dev-world';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

/* Changes while everything runs: roles, policies, keys. */

let world: DevWorld;

test.before(async () => {
  world = await startDevWorld();
});

test.after.always(async () => {
  await world?.remove();
});

const config = () => ['--config', join(world.folder, 'signet.yaml')];

async function tokenOf(identity: string): Promise<{ status: number; token: string }> {
  const form = 'grant_type=client_credentials&scope=catalog:domain';
  const { status, body } = await world.curl(identity, `${world.state.baseUrl}/oauth2/token`, '--data', form);
  return { status, token: JSON.parse(body).access_token };
}

async function get(identity: string, token: string, path: string): Promise<number> {
  const { status } = await world.curl(
    identity,
    '-H',
    `Authorization: Bearer ${token}`,
    `${world.state.providerUrl}${path}`,
  );
  return status;
}

function keyOf(token: string): string {
  return String(decodeProtectedHeader(token).kid);
}

/** Applies the sample documents with one text of `catalog.yaml` replaced. */
async function applyWith(t: ExecutionContext, from: string, to: string): Promise<void> {
  const folder = temporaryFolder(t);
  cpSync(join(repository, 'policies', 'catalog.yaml'), join(folder, 'catalog.yaml'));
  const text = readFileSync(join(folder, 'catalog.yaml'), 'utf8');
  t.true(text.includes(from));
  writeFileSync(join(folder, 'catalog.yaml'), text.replace(from, to));
  const { status, stderr } = await world.signet('apply', ...config(), folder);
  t.deepEqual({ status, stderr }, { status: 0, stderr: '' });
}

/** Asks the updater for a run now, as an operator in a hurry does. */
function updateNow(): void {
  process.kill(world.state.updaterPid, 'SIGUSR1');
}

test('a change reaches the server, the provider, and comes back, without a restart', async (t) => {
  const { token } = await tokenOf('media.player');
  t.is(await get('media.player', token, '/movie'), 200);

  // a rule is removed: the token is as good as before, what its role may do is not
  const rule = '    - { effect: allow, action: read, resource: movie, role: reader }\n';
  await applyWith(t, rule, '');
  await until('the server refuses the access', async () => {
    const { body } = await world.curl('media.player', `${world.state.baseUrl}/access/read?resource=catalog:movie`);
    return JSON.parse(body).granted === false;
  });
  updateNow();
  await until('the provider refuses', async () => (await get('media.player', token, '/movie')) === 403);
  t.is(await get('media.player', token, '/series'), 200);

  // the role is removed: no more tokens
  await applyWith(t, 'members: [media.player, media.studio]', 'members: [media.studio]');
  await until('the server refuses', async () => (await tokenOf('media.player')).status === 403);

  // and both are given back
  await applyWith(t, 'domain: catalog', 'domain: catalog');
  await until('the server grants', async () => (await tokenOf('media.player')).status === 200);
  updateNow();
  await until('the provider lets pass', async () => (await get('media.player', token, '/movie')) === 200);
  t.is(world.errors(), '');
});

test('keys rotate while tokens are issued and used, and nothing is refused', async (t) => {
  const answers: number[] = [];
  const kids = new Set<string>();
  const old = (await tokenOf('media.studio')).token;
  const round = async () => {
    const { status, token } = await tokenOf('media.studio');
    kids.add(keyOf(token));
    answers.push(status, await get('media.studio', token, '/series'), await get('media.studio', old, '/series'));
  };
  await round();
  for (let count = 0; count < 2; count += 1) {
    const rotated = world.signet('keys', 'rotate', ...config());
    await Promise.all([round(), round()]);
    t.is((await rotated).status, 0);
    updateNow();
    await Promise.all([round(), round()]);
  }
  t.deepEqual(new Set(answers), new Set([200]));
  // a new key is published before it signs
  t.is(kids.size, 1);
  await until('the new keys are published', async () => {
    const { body } = await world.curl('media.player', `${world.state.baseUrl}/oauth2/keys?rfc=true`);
    return JSON.parse(body).keys.length === 8;
  });

  // in an emergency it signs at once, before every host has it; what was issued before stays good
  t.is((await world.signet('keys', 'rotate', '--purpose', 'token', '--now', ...config())).status, 0);
  await until('the new key signs', async () => {
    kids.add(keyOf((await tokenOf('media.studio')).token));
    return kids.size === 2;
  });
  t.is(await get('media.studio', old, '/series'), 200);
});
