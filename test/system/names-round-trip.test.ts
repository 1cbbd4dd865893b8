import { readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { PolicyEngine } from '@signet/policy-engine';
import { parseDomainName } from '@signet/policy-engine/names';
import test from 'ava';
import fc from 'fast-check';
import { updaterScript } from '#support/dev-world';
import { send } from '#support/management-world';
import { operatorsDomain } from '#support/operators';
import { runProgram } from '#support/run-program';
import { install, serve } from '#support/signet-program';

/*
 * Round trip of all names that the management API accepts: exported, planned, applied to another store, bundled, fetched by the updater, loaded
 * by the engine, named by a token, and presented in a header.
 */

/** Longest names, words that YAML and JavaScript read as something else, and names that are those of files. */
const odd = [
  'd'.repeat(256),
  `${'long.'.repeat(40)}domain`,
  'x'.repeat(248),
  'x'.repeat(200),
  'x'.repeat(201),
  'films.cases',
  'films',
  'a.cases.cases',
  'cases',
  'true',
  'null',
  'no',
  'y',
  '123',
  '1.0',
  '1e3',
  '0x10',
  '2026-01-01',
  '_',
  '__proto__',
  'constructor',
  'tostring',
  'keys',
  'state',
  'schemas',
  'domain.schema',
  'x.pol',
  'x.yaml',
  'con',
  'a.-'.replace('.-', '.b-'),
];

/** Further names of the grammar, other ones in each run. */
const segment = fc.stringMatching(/^[a-z0-9_][a-z0-9_-]{0,40}$/);
const compound = fc.array(segment, { minLength: 1, maxLength: 8 }).map((parts) => parts.join('.').slice(0, 256));
const random = fc.sample(
  compound.filter((name) => /[a-z0-9_-]$/.test(name) && parseDomainName(name) === name && !name.startsWith('user.')),
  20,
);

const names = [...new Set([...odd, ...random])];

test('every name that the interface accepts goes from the API to the header of a request', async (t) => {
  t.timeout(300_000);
  const domains = [operatorsDomain, { name: 'media', services: { player: {}, host: {} } }];
  const [first, second] = [await install(t, { domains }), await install(t, { domains })];
  const running = await serve(t, first);
  const boss = running.as(await first.pki.identity('sys.auth.operator'));
  for (const name of names) {
    const path = `^/management/v1/domains/${name}`;
    const made = await boss(
      '^/management/v1/domains',
      send('POST', { domain: name, admins: ['media.player'], bundleReaders: ['media.host'] }),
    );
    t.is(made.status, 201, `${name}: ${made.text}`);
    const role = await boss(`${path}/roles/${name}`, send('PUT', { members: ['media.player'] }));
    t.true(role.status < 300, `${name}: ${role.text}`);
    const group = await boss(`${path}/groups/${name}`, send('PUT', { members: ['media.player'] }));
    t.true(group.status < 300, `${name}: ${group.text}`);
    const rule = [{ action: name, resource: name, role: name }];
    const policy = await boss(`${path}/policies/${name}`, send('PUT', rule));
    t.true(policy.status < 300, `${name}: ${policy.text}`);
  }
  t.is(await running.end(), 0);

  const folder = join(first.folder, 'documents');
  const exported = await first.signet('export', folder);
  t.is(exported.status, 0, exported.stderr);
  const again = await first.signet('plan', folder, '--json');
  t.is(again.status, 0, again.stderr);
  t.deepEqual(JSON.parse(again.stdout).changes, [], 'what was exported changes nothing');
  const applied = await second.signet('apply', folder, '--reason', 'round trip');
  t.is(applied.status, 0, `${applied.stdout}${applied.stderr}`);

  const serving = await serve(t, second);
  const host = await second.pki.identity('media.host');
  const at = (name: string) => join(second.folder, name);
  writeFileSync(at('host.pem'), host.certificate);
  writeFileSync(at('host.key'), host.key, { mode: 0o600 });
  writeFileSync(
    at('updater.yaml'),
    `baseUrl: ${serving.baseUrl}\ncaBundle: bundle.pem\ncertificate: host.pem\nkey: host.key\npolicyDir: policy\ndomains: auto\n`,
  );
  const fetched = await runProgram(process.execPath, [updaterScript, 'once', '--config', at('updater.yaml')]);
  t.is(fetched.status, 0, `${fetched.stdout}${fetched.stderr}`);
  const status = await runProgram(process.execPath, [updaterScript, 'status', '--config', at('updater.yaml')]);
  t.is(status.status, 0, `${status.stdout}${status.stderr}`);
  t.is(readdirSync(at('policy')).filter((file) => file.endsWith('.pol')).length, names.length);

  const engine = await PolicyEngine.open({ policyDir: at('policy') });
  t.teardown(() => engine.close());
  t.true(engine.health().ok, JSON.stringify(engine.health()));
  const player = await second.pki.identity('media.player');
  const provider = createServer({ cert: host.certificate, key: host.key }, (request, response) => {
    response.end(request.headers.authorization);
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  t.teardown(() => provider.close());
  const { port } = provider.address() as AddressInfo;
  const ask = serving.as(player);
  for (const name of names) {
    const form = new URLSearchParams({ grant_type: 'client_credentials', scope: `${name}:role.${name}` });
    const answer = await ask('/oauth2/token', {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    });
    t.is(answer.status, 200, `${name}: ${answer.text}`);
    const { access_token: token } = Object(answer.body);
    const shown = await runProgram('curl', [
      '-ks',
      '-H',
      `Authorization: Bearer ${token}`,
      `https://127.0.0.1:${port}/`,
    ]);
    t.is(shown.stdout, `Bearer ${token}`, name);
    const resource = `${name}:${name}`;
    const decided = await engine.decide({ token, action: name, resource, certificate: player.certificate });
    t.is(decided.status, 'ALLOW', name);
  }
});
