import test from 'ava';
import { managementWorld, send } from '#support/management-world';
import { caller, wholeFile } from '#support/start-server';

const { server, boss, guest, as, newDomain, end } = await managementWorld();
const asRole = caller(wholeFile(), server, await server.pki.odd({ subject: 'CN=media:role.friends' }));
test.after.always(end);

/* Domains that name the caller as a reader of their bundles. */

const path = '/bundle-domains';
const named = (...bundleReaders: string[]) => send('PUT', { bundleReaders });

test('a domain is told to the services that it names, from the change on and until the next', async (t) => {
  const [one, other] = [await newDomain('kept'), await newDomain('also-kept')];
  const before = await guest(path);
  t.deepEqual(before.body, { reader: 'media.guest', complete: true, domains: [] });
  t.is((await boss(one, named('media.guest', 'Media.Guest', 'films.api'))).status, 200);
  t.is((await boss(other, named('media.guest'))).status, 200);
  const both = await guest(path);
  t.deepEqual(both.body, { reader: 'media.guest', complete: true, domains: ['also-kept', 'kept'] });
  t.is(both.headers['cache-control'], 'private, no-cache');
  const tag = { headers: { 'if-none-match': String(both.headers['etag']) } };
  t.deepEqual([(await guest(path, tag)).status, (await boss(path, tag)).status], [304, 200]);
  await boss(other, send('PUT', { enabled: false }));
  t.like((await guest(path, tag)).body, { domains: ['kept'] });
  await boss(one, send('PUT', {}));
  t.deepEqual((await guest(path, tag)).body, before.body);
});

const refused: readonly (readonly [note: string, readers: unknown, says: RegExp])[] = [
  ['a user', ['user.joe'], /bundleReaders.*must be names of services such as `films.api`/],
  ['a name without a domain', ['player'], /bundleReaders.*must be names of services/],
  ['a group', ['media:group.team'], /bundleReaders.*must be names of services/],
  ['a pattern', ['media.*'], /bundleReaders.*is not a valid PrincipalName/],
  ['an empty list', [], /bundleReaders.*must name a service: leave it out for none/],
  ['one too many', Array.from({ length: 101 }, (_, index) => `a.b${index}`), /bundleReaders.*at most 100 names/],
];

test('readers are services by name, at most 100, and said by whoever administers the domain', async (t) => {
  const domain = await newDomain('strict');
  for (const [note, bundleReaders, says] of refused) {
    const answer = await boss(domain, send('PUT', { bundleReaders }));
    t.is(answer.status, 400, note);
    t.regex(answer.text, says, note);
  }
  t.is((await guest(domain, named('media.guest'))).status, 403);
  t.is((await boss(domain, named(...Array.from({ length: 100 }, (_, index) => `a.b${index}`)))).status, 200);
});

test('naming a reader leaves the bundle as it is', async (t) => {
  const domain = await newDomain('steady');
  const player = await as('media.player');
  const signed = async () => (await player('/domain/steady/policy/signed')).headers['etag'];
  const before = await signed();
  t.is((await boss(domain, named('media.player'))).status, 200);
  t.is(await signed(), before);
});

test('a certificate of a role, which has no host of its own, is refused', async (t) => {
  const { status, body } = await asRole(path);
  t.deepEqual([status, Object(body).message], [403, 'a role certificate is not a service identity']);
});
