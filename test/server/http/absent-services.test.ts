import test from 'ava';
import { field } from '#support/instance-world';
import { send } from '#support/management-world';
import { operatorsDomain } from '#support/operators';
import { caller, startServer, wholeFile } from '#support/start-server';

/* Deleted, disabled and unregistered principals hold nothing, whatever names or covers them. */

const file = wholeFile();
test.after.always(() => file.end());
const management = '^/management/v1';

async function start(profile: 'signet' | 'athenz') {
  const server = await startServer(file, {
    options: { profile },
    domains: [
      operatorsDomain,
      {
        name: 'catalog',
        roles: { reader: ['*'], near: ['media.*'], named: ['media.ghost', 'nowhere.any'], far: { trust: 'media' } },
        services: { api: {} },
        policies: {
          films: [['ALLOW', 'reader', 'read', 'film']],
          assuming: [['ALLOW', 'near', 'assume_role', 'role.named']],
        },
      },
      { name: 'media', services: { player: {}, gone: {}, off: false }, roles: { all: ['*'] } },
      { name: 'asleep', enabled: false, services: { any: {} } },
      { name: 'ended', enabled: false, services: { any: {} } },
    ],
  });
  const operator = caller(file, server, await server.pki.identity('sys.auth.operator'));
  const call = caller(file, server, await server.pki.identity('media.player'));
  const lending = [{ action: 'assume_role', resource: 'catalog:role.far', role: 'all' }];
  await operator(`${management}/domains/media/policies/lending`, send('PUT', lending));

  /** All answers about the principal that grant it something. */
  const granting = async (principal: string): Promise<readonly string[]> => {
    const paths = [
      `/access/read?resource=catalog:film&principal=${principal}`,
      `/access/read/catalog:film?principal=${principal}`,
      `${management}/access/read?resource=catalog:film&principal=${principal}`,
      `/access/assume_role?resource=catalog:role.named&principal=${principal}`,
      `/access/assume_role?resource=catalog:role.far&domain=media&principal=${principal}`,
      ...['reader', 'near', 'named', 'far'].map((role) => `/access/domain/catalog/role/${role}/principal/${principal}`),
    ];
    const granted: string[] = [];
    for (const path of paths) if (field((await call(path)).body, 'granted') !== false) granted.push(path);
    const roles = await call(`/access/domain/catalog/principal/${principal}`);
    if (JSON.stringify(roles.body) !== '{"roles":[]}') granted.push(roles.text);
    const questions = [{ action: 'read', resource: 'catalog:film', principal }];
    const many = await call('/access-checks', send('POST', { questions }));
    if (JSON.stringify(many.body) !== '{"answers":[{"granted":false}]}') granted.push(many.text);
    const list = await operator(`${management}/access?principal=${principal}`);
    if (JSON.stringify(list.body) !== '{"items":[]}') granted.push(list.text);
    return granted;
  };
  return { operator, granting };
}

for (const profile of ['signet', 'athenz'] as const) {
  test(`${profile}: deleting takes away no less than disabling, and who never was holds nothing`, async (t) => {
    const { operator, granting } = await start(profile);
    const everything = await granting('media.player');
    t.is(everything.length, 12, everything.join('\n'));
    t.deepEqual(
      await granting('media.gone'),
      everything.map((path) => path.replaceAll('player', 'gone')),
    );
    for (const name of ['media.off', 'asleep.any', 'media.ghost', 'nowhere.any', 'ended.any']) {
      t.deepEqual(await granting(name), [], name);
    }
    // A user is one by the form of the name.
    t.true((await granting('user.jane')).length > 0);
    t.is((await operator(`${management}/domains/media/services/gone`, { method: 'DELETE' })).status, 204);
    t.is((await operator(`${management}/domains/ended`, { method: 'DELETE' })).status, 204);
    t.deepEqual(await granting('media.gone'), []);
    t.deepEqual(await granting('ended.any'), []);
    // One of the same name has what everybody has, and an entry that was there before counts again.
    for (const name of ['gone', 'ghost']) {
      const path = `${management}/domains/media/services/${name}?reuseName=true`;
      t.is((await operator(path, send('PUT', {}))).status, 201);
    }
    t.deepEqual(
      await granting('media.gone'),
      everything.map((path) => path.replaceAll('player', 'gone')),
    );
    t.true((await granting('media.ghost')).length >= everything.length);
  });
}

test('a dry run tells what a deletion takes away, and that it gives nothing', async (t) => {
  const { operator } = await start('signet');
  const impactOf = async (path: string) => {
    const { body } = await operator(`${management}/domains/${path}dryRun=true`, { method: 'DELETE' });
    const impact = field(body, 'impact');
    if (!Array.isArray(impact)) throw new Error(JSON.stringify(body));
    return impact.map((one) => {
      const example = field(one, 'example');
      return ['change', 'principal']
        .map((name) => field(one, name))
        .concat(field(example, 'action'))
        .join(' ');
    });
  };
  t.deepEqual((await impactOf('media/services/gone?')).sort(), ['loss media.gone assume_role', 'loss media.gone read']);
  t.deepEqual(await impactOf('media/services/off?'), []);
  t.deepEqual(await impactOf('ended?'), []);
});
