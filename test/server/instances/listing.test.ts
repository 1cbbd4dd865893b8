import { X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import test from 'ava';
import { field, instanceDomains, instanceWorld, register } from '#support/instance-world';

const viewers = { ...instanceDomains[2], roles: { ...instanceDomains[2].roles, admin: ['media.admin'] } };

test('who may look at a domain lists its instances, page by page; others do not', async (t) => {
  const domains = [instanceDomains[0], instanceDomains[1], viewers, instanceDomains[3]];
  const world = await instanceWorld(t, { domains });
  const registered = [];
  for (const id of ['l-3', 'l-1', 'l-2']) registered.push(await register(world, id));
  const admin = await world.identity('media.admin');
  const path = '^/management/v1/domains/media/instances';

  const all = await admin(path);
  t.is(all.status, 200, all.text);
  const items = field(all.body, 'items');
  t.true(Array.isArray(items));
  t.deepEqual(Array.isArray(items) && items.map((item) => field(item, 'instanceId')), ['l-1', 'l-2', 'l-3']);
  const [first] = Array.isArray(items) ? items : [];
  const leaf = new X509Certificate(registered[1]?.certificate ?? '');
  t.like(first, {
    service: 'player',
    provider: 'sys.auth.server',
    instanceId: 'l-1',
    state: 'valid',
    serial: leaf.serialNumber.toLowerCase(),
    notAfter: leaf.validToDate.toISOString(),
  });

  const page = await admin(`${path}?limit=2`);
  t.is(Array.isArray(field(page.body, 'items')) && Object(field(page.body, 'items')).length, 2);
  const next = String(field(page.body, 'next'));
  const rest = await admin(`${path}?limit=2&cursor=${next}`);
  t.deepEqual(rest.body, { items: Array.isArray(items) ? items.slice(2) : [] });

  t.deepEqual((await admin(`${path}?service=studio`)).body, { items: [] });
  const service = await admin(`${path}?service=player&limit=1000`);
  t.true(isDeepStrictEqual(field(service.body, 'items'), items));

  for (const [query, status, message] of [
    ['?limit=0', 400, 'limit must be from 1 to 1000'],
    ['?cursor=x.y', 400, 'cursor is not one that this list gave'],
    [`?service=player&cursor=${next}`, 400, 'cursor is not one that this list gave'],
    ['?provider=x', 400, 'the query has a parameter that is not known here; allowed: service, limit, cursor'],
  ] as const) {
    t.deepEqual((await admin(`${path}${query}`)).body, { code: status, message });
  }
  const stranger = await world.identity('catalog.admin');
  t.deepEqual((await stranger(path)).body, { code: 403, message: 'caller may not look at `media:domain`' });
  t.is((await stranger('^/management/v1/domains/nowhere/instances')).status, 404);

  await admin('/instance/sys.auth.server/media/player/l-2', { method: 'DELETE' });
  const left = await admin(path);
  t.deepEqual(
    Object(field(left.body, 'items')).map((item: unknown) => field(item, 'instanceId')),
    ['l-1', 'l-3'],
  );
});
