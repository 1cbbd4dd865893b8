import { certificateThumbprint } from '@signet/policy-engine/token';
import test, { type ExecutionContext } from 'ava';
import { field, json, refresh, register } from '#support/instance-world';
import { loadDomains } from '#support/mixed-load';
import { type Installation, install, type Serving, serve } from '#support/signet-program';
import type { Caller, CallerOptions } from '#support/start-server';

/* A server of several processes: what one of them has acknowledged, none of the others still allows. */

/** Long interval: only the requests between processes can be the cause within the test. */
const rarely = 'snapshot: { refreshIntervalMs: 60000 }';
const domains = loadDomains.map((domain) =>
  domain.name === 'catalog' ? { ...domain, policies: { all: [['ALLOW', 'reader', 'read', '*']] as const } } : domain,
);

async function several(t: ExecutionContext): Promise<{ installation: Installation; serving: Serving }> {
  const installation = await install(t, { domains, more: rarely });
  return { installation, serving: await serve(t, installation, { args: ['--workers', '3'] }) };
}

/** Kept connections, a few of them on each process: they are given out in turn. */
function connections(serving: Serving, who: CallerOptions): readonly Caller[] {
  return Array.from({ length: 9 }, () => serving.as(who));
}

async function statuses(callers: readonly Caller[], path: string): Promise<readonly number[]> {
  return [...new Set(await Promise.all(callers.map(async (call) => (await call(path)).status)))];
}

test('a deleted instance and its certificates count nowhere once the deletion is acknowledged', async (t) => {
  const { installation, serving } = await several(t);
  const as = (who?: CallerOptions) => serving.as(who);
  const admin = as(await installation.pki.identity('media.admin'));
  const token = async (id: string, service = 'player') =>
    String(field((await admin(`/instance/sys.auth.server/media/${service}/${id}/token`)).body, 'attestationData'));
  const asked = connections(serving, await installation.pki.identity('catalog.api'));
  const question = (certificate: string) =>
    `/access/read?resource=catalog:movie&principal=media.player&thumbprint=${certificateThumbprint(certificate)}`;
  const granted = async (certificate: string) => [
    ...new Set(
      await Promise.all(asked.map(async (call) => field((await call(question(certificate))).body, 'granted'))),
    ),
  ];

  for (let round = 0; round < 3; round += 1) {
    const instance = await register({ as, token }, `i-${round}`);
    t.is(instance.answer.status, 201, instance.answer.text);
    const renewed = await refresh({ as }, instance);
    const both = [instance, renewed];
    const own = both.flatMap((each) => connections(serving, each));
    t.deepEqual(await statuses(own, '/access/read?resource=catalog:movie'), [200]);
    t.deepEqual(await granted(renewed.certificate), [true]);
    const deleted = await admin(`/instance/sys.auth.server/media/player/i-${round}`, { method: 'DELETE' });
    t.is(deleted.status, 204);
    t.deepEqual(await statuses(own, '/access/read?resource=catalog:movie'), [401]);
    for (const { certificate } of both) t.deepEqual(await granted(certificate), [false]);
  }
});

test('what the management API has acknowledged counts in every process', async (t) => {
  const { installation, serving } = await several(t);
  const operator = serving.as(await installation.pki.identity('sys.auth.operator'));
  const asked = connections(serving, await installation.pki.identity('media.player'));
  const granted = async () => [
    ...new Set(
      await Promise.all(
        asked.map(async (call) => field((await call('/access/read?resource=catalog:movie')).body, 'granted')),
      ),
    ),
  ];
  t.deepEqual(await granted(), [true]);
  const member = '^/management/v1/domains/catalog/roles/reader/members/media.player';
  t.is((await operator(member, { method: 'DELETE' })).status, 204);
  t.deepEqual(await granted(), [false]);
  t.is((await operator(member, json({}, 'PUT'))).status, 201);
  t.deepEqual(await granted(), [true]);
  const service = '^/management/v1/domains/media/services/player';
  t.is((await operator(service, json({ enabled: false }, 'PUT'))).status, 200);
  t.deepEqual(await statuses(asked, '/access/read?resource=catalog:movie'), [401]);
});
