import { X509Certificate } from 'node:crypto';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parsePrincipalName, parseRoleName } from '@signet/policy-engine/names';
import { NoGrantedRolesError } from '@signet/server/errors';
import { createAuthorities } from '@signet/server/x509/certificate-authority';
import { issueRoleCertificate, type RoleCertificateDeps } from '@signet/server/x509/issue-role-certificate';
import { issuerFromPem } from '@signet/server/x509/issuer-files';
import test from 'ava';
import { FakeClock } from '#support/clock';
import { snapshotOf } from '#support/domains';
import { naming } from '#support/instance-deps';
import { field, instanceWorld, json } from '#support/instance-world';
import { ecPair, requestPem } from '#support/requests';
import { form, wholeFile } from '#support/start-server';

/* Over HTTP: neither an access token nor a role certificate outlives the membership that gives the role. */

const file = wholeFile();
const clock = new FakeClock(Math.floor(systemClock.now() / 1000) * 1000);
const start = clock.now() / 1000;
const day = 86_400;
const world = await instanceWorld(file, {
  clock,
  domains: [
    { name: 'sys.auth', services: { server: {} } },
    { name: 'media', services: { player: {}, admin: {} } },
    {
      name: 'catalog',
      roles: {
        reader: { members: [{ name: 'media.player', disabled: false, expires: (start + day) * 1000 }] },
        lasting: ['media.player'],
      },
    },
  ],
});
const player = await world.identity('media.player');
test.after.always(() => file.end());

async function tokenFor(scope: string, more: Readonly<Record<string, string>> = {}) {
  const { status, body } = await player('/oauth2/token', form({ grant_type: 'client_credentials', scope, ...more }));
  return { status, life: field(body, 'expires_in'), scope: field(body, 'scope') };
}

/** The end of a certificate for the role `reader`, in seconds since `start`. */
async function certificateEnd(more: Readonly<Record<string, unknown>> = {}) {
  const csr = requestPem(ecPair(), { commonNames: ['catalog:role.reader'] });
  const { status, body } = await player('/rolecert', json({ csr, ...more }));
  if (status !== 200) return status;
  return new X509Certificate(String(field(body, 'x509Certificate'))).validToDate.getTime() / 1000 - start;
}

test('the nearer the end of the membership, the shorter the life', async (t) => {
  const reader = 'catalog:role.reader';
  t.deepEqual(await tokenFor(reader), { status: 200, life: 7200, scope: reader });
  t.is(await certificateEnd(), day);
  t.is(await certificateEnd({ expiryTime: 600 }), 600);

  clock.advance((day - 90) * 1000 + 1);
  t.deepEqual(await tokenFor(reader), { status: 200, life: 90, scope: reader });
  t.deepEqual(await tokenFor(reader, { expires_in: '3600' }), { status: 200, life: 90, scope: reader });
  t.deepEqual(await tokenFor(reader, { expires_in: '60' }), { status: 200, life: 60, scope: reader });
  t.deepEqual(await tokenFor('catalog:domain'), {
    status: 200,
    life: 90,
    scope: 'catalog:role.lasting catalog:role.reader',
  });
  t.deepEqual(await tokenFor('catalog:role.lasting'), { status: 200, life: 7200, scope: 'catalog:role.lasting' });
  t.is(await certificateEnd(), day);

  clock.advance(89_500);
  // Less than a second is left.
  t.is((await tokenFor(reader)).status, 403);
  t.deepEqual(await tokenFor('catalog:domain'), { status: 200, life: 7200, scope: 'catalog:role.lasting' });
  t.is(await certificateEnd(), 403);
});

test('a certificate that outlives a membership shortened meanwhile is not given out', async (t) => {
  const at = new FakeClock();
  const until = at.now() + 600_000;
  const snapshotUntil = (expires: number) =>
    snapshotOf({
      catalog: { roles: { reader: [{ name: 'media.player', expires }] } },
      media: { services: ['player'] },
    });
  const { intermediate } = await createAuthorities(at);
  const issuer = issuerFromPem(intermediate.certificate, intermediate.key);
  const ask = async (later: number) => {
    const deps = {
      snapshot: () => snapshotUntil(until),
      snapshotAt: async () => snapshotUntil(later),
      clock: at,
      rules: naming,
      isSharedAddress: () => false,
      issuers: { signing: () => issuer },
      randomBytes: (size: number) => Buffer.alloc(size, 1),
      limits: { roleDefaultSeconds: 3600, roleMaxSeconds: 7200 },
      certificates: {
        intend: async () => undefined,
        confirm: async (_serial: string, _print: string, conditions: { decide: (source: unknown) => unknown }) =>
          conditions.decide(undefined),
      },
    } as unknown as RoleCertificateDeps;
    return await issueRoleCertificate(deps, parsePrincipalName('media.player'), {
      csr: requestPem(ecPair(), { commonNames: ['catalog:role.reader'] }),
      role: { domain: parseDomainName('catalog'), name: parseRoleName('reader') },
      heldDnsNames: new Set<string>(),
      address: '192.0.2.1',
    });
  };
  t.is((await ask(until)).notAfter, until / 1000);
  await t.throwsAsync(ask(until - 1000), { instanceOf: NoGrantedRolesError });
});
