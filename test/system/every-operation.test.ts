import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient, identityPaths, openIdentityAgent, type SignetClient } from '@signet/client';
import { formatTimestamp } from '@signet/policy-engine/clock';
import test from 'ava';
import { decodeJwt } from 'jose';
import { type DevWorld, signetScript, startDevWorld } from '#support/dev-world';
import { openssl } from '#support/openssl';
import { runProgram } from '#support/run-program';
import { wholeFile } from '#support/start-server';
import { startSts, stsAccess } from '#support/sts';
import { until } from '#support/until';

/* Every operation once through the client, the command line and curl, with the same result. */

const file = wholeFile();
const folder = mkdtempSync(join(tmpdir(), 'signet-every-'));
file.teardown(() => rmSync(folder, { recursive: true, force: true }));
let world: DevWorld;
let client: SignetClient;
let operator: SignetClient;

test.before(async () => {
  const sts = await startSts(file);
  world = await startDevWorld({
    env: {
      ...process.env,
      SIGNET_CLOUD_AWS_REGION: 'eu-central-1',
      SIGNET_CLOUD_AWS_ENDPOINT: sts.endpoint,
      AWS_ACCESS_KEY_ID: stsAccess.accessKeyId,
      AWS_SECRET_ACCESS_KEY: stsAccess.secretAccessKey,
      AWS_EC2_METADATA_DISABLED: 'true',
    },
  });
  file.teardown(() => world.remove());
  [client, operator] = [connect('media.player'), connect('sys.auth.operator')];
  const policies = new URL('../../policies/', import.meta.url);
  const catalog = readFileSync(new URL('catalog.yaml', policies), 'utf8');
  const nightly = '  cloud:\n    - { effect: allow, action: assume_aws_role, resource: team/nightly, role: reader }\n';
  writeFileSync(
    join(folder, 'catalog.yaml'),
    `${catalog.replace('policies:\n', `policies:\n${nightly}`)}\naccounts: { aws: "123456789012" }\n`,
  );
  const applied = await world.signet('apply', '--config', join(world.folder, 'signet.yaml'), folder);
  if (applied.status !== 0) throw new Error(applied.stderr);
  const role = { domain: 'catalog', role: 'team/nightly' };
  await until('the rules are in force', () =>
    client.aws.credentials(role).then(
      () => true,
      () => false,
    ),
  );
});

test.after.always(() => file.end());

function connect(name: string): SignetClient {
  const { cert = '', key = '' } = world.state.identities[name] ?? {};
  const { baseUrl, caBundle } = world.state;
  const made = createClient({ baseUrl, caBundle, certificate: cert, key });
  file.teardown(() => made.close());
  return made;
}

/** `signet … --json` as one of the identities. */
async function signet(as: string, ...args: readonly string[]): Promise<Record<string, unknown>> {
  const { status, stdout, stderr } = await world.signet(...args, '--data', world.folder, '--as', as, '--json');
  if (status !== 0) throw new Error(`signet ${args.join(' ')} ended with ${status}: ${stderr}`);
  return JSON.parse(stdout);
}

async function curl(as: string | undefined, path: string, ...args: readonly string[]) {
  const { status, body } = await world.curl(as, ...args, `${world.state.baseUrl}${path}`);
  return { status, body: body === '' ? undefined : JSON.parse(body) };
}

const json = (value: unknown) => ['-H', 'content-type: application/json', '--data', JSON.stringify(value)];

test('Access', async (t) => {
  const ask = { action: 'read', resource: 'catalog:movie' };
  t.true(await client.access.check(ask));
  t.deepEqual(await signet('media.player', 'access', 'check', 'read', 'catalog:movie'), { granted: true });
  const answer = await curl('media.player', '/access/read?resource=catalog:movie');
  t.deepEqual(answer, { status: 200, body: { granted: true } });
});

test('AccessToken', async (t) => {
  const stable = (token: unknown) => {
    const { iat, exp, auth_time: at, jti, ...claims } = decodeJwt(String(token));
    t.truthy(jti);
    return { ...claims, life: Number(exp) - Number(iat), sameTime: at === iat };
  };
  const query = { domain: 'catalog', roles: ['reader'], expiresIn: 900, service: 'api' };
  const ours = await client.tokens.getId(query);
  const theirs = await signet(
    'media.player',
    ...['token', 'get', '--domain', 'catalog', '--role', 'reader', '--expires-in', '900', '--id-token', 'api'],
  );
  const form = 'grant_type=client_credentials&expires_in=900&scope=catalog:role.reader openid catalog:service.api';
  const { body } = await curl('media.player', '/oauth2/token', '--data', form);
  t.is(stable(ours.accessToken)['life'], 900);
  for (const other of [theirs, body]) {
    t.deepEqual(stable(other['access_token']), stable(ours.accessToken));
    t.deepEqual(other['scope'], ours.scope.join(' '));
  }
  t.is(decodeJwt(String(theirs['id_token'])).sub, decodeJwt(ours.idToken).sub);
  t.is(decodeJwt(body.id_token).sub, decodeJwt(ours.idToken).sub);
});

test('AWS Temporary Credentials', async (t) => {
  const role = { domain: 'catalog', role: 'team/nightly', durationSeconds: 900 };
  const { expiresAt, ...ours } = await client.aws.credentials(role);
  const args = ['aws', 'credentials', '--domain', 'catalog', '--role', 'team/nightly', '--duration', '900'];
  t.deepEqual(await signet('media.player', ...args), {
    Version: 1,
    AccessKeyId: ours.accessKeyId,
    SecretAccessKey: ours.secretAccessKey,
    SessionToken: ours.sessionToken,
    Expiration: formatTimestamp(expiresAt),
  });
  const { body } = await curl('media.player', '/domain/catalog/role/team%2Fnightly/creds?durationSeconds=900');
  t.deepEqual(body, { ...ours, expiration: formatTimestamp(expiresAt) });
});

test('AWS tools read the credentials through a profile', async (t) => {
  const command = [
    process.execPath,
    signetScript,
    'aws',
    'credentials',
    '--domain',
    'catalog',
    '--role',
    'team/nightly',
  ];
  const profile = [...command, '--data', world.folder, '--as', 'media.player'].join(' ');
  const config = join(folder, 'aws.config');
  writeFileSync(config, `[profile nightly]\nregion = eu-central-1\ncredential_process = ${profile}\n`);
  const { AWS_ACCESS_KEY_ID: _, AWS_SECRET_ACCESS_KEY: __, ...clean } = process.env;
  const env = { ...clean, AWS_CONFIG_FILE: config, AWS_PROFILE: 'nightly', AWS_EC2_METADATA_DISABLED: 'true' };
  const script = `const { STSClient } = await import('@aws-sdk/client-sts');
    const { accessKeyId, secretAccessKey, sessionToken } = await new STSClient({}).config.credentials();
    console.log(JSON.stringify({ accessKeyId, secretAccessKey, sessionToken }));`;
  const cwd = new URL('../../server', import.meta.url).pathname;
  const sdk = await runProgram(process.execPath, ['--input-type=module', '--eval', script], { cwd, env });
  t.is(sdk.status, 0, sdk.stderr);
  const { expiresAt: ___, ...ours } = await client.aws.credentials({ domain: 'catalog', role: 'team/nightly' });
  t.deepEqual(JSON.parse(sdk.stdout), ours);
  const there = await runProgram('aws', ['--version']).catch(() => undefined);
  if (there?.status !== 0) return t.log('the command line of AWS is not installed here: not tried');
  const tool = await runProgram('aws', ['configure', 'list'], { env });
  t.regex(tool.stdout, /access_key\s.*0000\s.*custom-process/);
});

/** Common shape of two certificates for the same names. */
function shape(pem: unknown) {
  const { subject, subjectAltName, keyUsage, issuer } = new X509Certificate(String(pem));
  return { subject, subjectAltName, keyUsage, issuer };
}

test('IdentityRefresh', async (t) => {
  const { cert = '', key = '' } = world.state.identities['media.player'] ?? {};
  const own = new X509Certificate(readFileSync(cert));
  const ours = await client.certificates.service({ expiresIn: 3600 });
  const theirs = await signet('media.player', 'cert', 'request', '--expires-in', '3600');
  const names = ['-subj', '/CN=media.player', '-addext', `subjectAltName=${own.subjectAltName ?? ''}`];
  t.true((await openssl(folder, 'req', '-new', '-key', key, ...names, '-out', 'own.csr')).ok);
  const csr = readFileSync(join(folder, 'own.csr'), 'utf8');
  // Each of the two before presented the one that is in use, which counts as the previous one once only.
  writeFileSync(join(folder, 'newest.cert'), String(theirs['certificate']));
  const as = ['--cert', join(folder, 'newest.cert'), '--key', key];
  const asked = [...as, ...json({ csr, expiryTime: 3600 })];
  const { body } = await curl(undefined, '/instance/media/player/refresh', ...asked);
  for (const certificate of [ours.certificate, theirs['certificate'], body.certificate]) {
    t.like(shape(certificate), { subject: own.subject, subjectAltName: own.subjectAltName });
    t.true(new X509Certificate(String(certificate)).publicKey.equals(own.publicKey));
    t.deepEqual(shape(certificate), shape(ours.certificate));
  }
});

test('InstanceRegister, InstanceRefresh, InstanceDelete', async (t) => {
  const name = { provider: 'sys.auth.server', domain: 'media', service: 'player' };
  const trustDomain = 'signet.local';
  const seen: unknown[][] = [];

  const joinTokens = [await operator.instances.joinToken({ ...name, instanceId: 'i-1' })];
  const agent = openIdentityAgent({
    baseUrl: world.state.baseUrl,
    caBundle: world.state.caBundle,
    folder: join(folder, 'i-1'),
    instance: { ...name, instanceId: 'i-1', trustDomain },
    attestation: async () => joinTokens.shift(),
  });
  const first = [await agent.step(), shapeOf('i-1'), await agent.step({ force: true }), shapeOf('i-1')];
  await operator.instances.delete({ ...name, instanceId: 'i-1' });
  seen.push([kind(first[0]), first[1], kind(first[2]), first[3], kind(await agent.step({ force: true }))]);

  const { token } = await signet('sys.auth.operator', 'instance', 'token', 'media.player', 'i-2');
  writeFileSync(join(folder, 'join'), String(token));
  const once = async (...more: string[]) => {
    const into = ['--instance-id', 'i-2', '--dir', join(folder, 'i-2'), '--attestation', join(folder, 'join')];
    const args = ['identity', 'once', '--name', 'media.player', ...into, '--data', world.folder, '--json', ...more];
    const { stdout } = await world.signet(...args);
    return String(JSON.parse(stdout).outcome);
  };
  const second = [await once(), shapeOf('i-2'), await once('--force'), shapeOf('i-2')];
  t.deepEqual(await signet('sys.auth.operator', 'instance', 'delete', 'media.player', 'i-2'), { deleted: true });
  seen.push([...second, await once('--force')]);

  const path = '/instance/sys.auth.server/media/player/i-3';
  const { body: join3 } = await curl('sys.auth.operator', `${path}/token`);
  const csr = async () => {
    const alt = `subjectAltName=URI:spiffe://${trustDomain}/ns/default/sa/media.player,DNS:i-3.instanceid.${trustDomain}`;
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'i-3.new.pem'];
    await openssl(folder, 'req', '-new', ...newKey, '-subj', '/CN=media.player', '-addext', alt, '-out', 'i-3.csr');
    return {
      csr: readFileSync(join(folder, 'i-3.csr'), 'utf8'),
      key: readFileSync(join(folder, 'i-3.new.pem'), 'utf8'),
    };
  };
  const request = await csr();
  const attestationData = join3.attestationData;
  const registered = await curl(undefined, '/instance', ...json({ ...name, attestationData, csr: request.csr }));
  t.is(registered.status, 201);
  writeFileSync(join(folder, 'i-3.cert'), registered.body.x509Certificate);
  writeFileSync(join(folder, 'i-3.key'), request.key);
  const as = ['--cert', join(folder, 'i-3.cert'), '--key', join(folder, 'i-3.key')];
  const refreshed = await curl(undefined, path, ...as, ...json({ csr: (await csr()).csr }));
  t.is(refreshed.status, 200);
  t.is((await curl('sys.auth.operator', path, '-X', 'DELETE')).status, 204);
  const after = await curl(undefined, path, ...as, ...json({ csr: (await csr()).csr }));
  t.true(after.status === 401 || after.status === 403);
  const [registeredShape, refreshedShape] = [registered, refreshed].map(({ body }) => shape(body.x509Certificate));
  seen.push(['registered', registeredShape, 'refreshed', refreshedShape, 'failed']);

  const plain = seen.map((each) => JSON.parse(JSON.stringify(each).replace(/i-[123]/g, 'i-x')));
  t.deepEqual(plain[1], plain[0]);
  t.deepEqual(plain[2], plain[0]);

  function shapeOf(id: string) {
    return shape(readFileSync(identityPaths(join(folder, id)).certificate));
  }
  function kind(outcome: unknown) {
    return typeof outcome === 'object' && outcome !== null && 'kind' in outcome ? outcome.kind : undefined;
  }
});

test('JWKList', async (t) => {
  const { keys } = await client.keys();
  const { body } = await curl('media.player', '/oauth2/keys?rfc=true');
  t.deepEqual(body.keys, keys);
  const config = ['--config', join(world.folder, 'signet.yaml')];
  const listed: { kid: string }[] = JSON.parse((await world.signet('keys', 'list', ...config, '--json')).stdout);
  t.deepEqual(await signet('media.player', 'keys', 'published'), { keys });
  t.deepEqual(listed.map(({ kid }) => kid).sort(), keys.map(({ kid }) => kid).sort());
});

test('RoleAccess', async (t) => {
  const roles = ['editor', 'reader'];
  t.deepEqual(await client.roles.list({ domain: 'catalog', principal: 'media.studio' }), roles);
  const args = ['roles', 'list', '--domain', 'catalog', '--principal', 'media.studio'];
  t.deepEqual(await signet('media.player', ...args), { roles });
  const { body } = await curl('media.player', '/access/domain/catalog/principal/media.studio');
  t.deepEqual(body, { roles });
});

test('RoleCertificate', async (t) => {
  const ours = await client.certificates.role({ domain: 'catalog', role: 'reader', expiresIn: 3600 });
  const args = ['cert', 'role', '--domain', 'catalog', '--role', 'reader', '--expires-in', '3600'];
  const theirs = await signet('media.player', ...args);
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'role.pem'];
  await openssl(folder, 'req', '-new', ...newKey, '-subj', '/CN=catalog:role.reader', '-out', 'role.csr');
  const csr = readFileSync(join(folder, 'role.csr'), 'utf8');
  const { body } = await curl('media.player', '/domain/catalog/role/reader/token', ...json({ csr, expiryTime: 3600 }));
  t.is(shape(ours.certificate).subject, 'CN=catalog:role.reader');
  t.deepEqual(shape(theirs['certificate']), shape(ours.certificate));
  t.deepEqual(shape(body.token), shape(ours.certificate));
});

test('RoleCheckAccess', async (t) => {
  t.true(await client.access.inRole({ domain: 'catalog', role: 'reader', principal: 'media.studio' }));
  const args = ['roles', 'check', 'reader', '--domain', 'catalog', '--principal', 'media.studio'];
  t.deepEqual(await signet('media.player', ...args), { granted: true });
  const { body } = await curl('media.player', '/access/domain/catalog/role/reader/principal/media.studio');
  t.deepEqual(body, { granted: true });
});

test('a refusal is the same for all three', async (t) => {
  const error = await t.throwsAsync(client.roles.list({ domain: 'nowhere' }));
  const message = 'domain `nowhere` does not exist';
  t.like(error, { code: 'refused', status: 404, serverCode: 404, serverMessage: message });
  const ended = await world.signet(
    'roles',
    'list',
    '--domain',
    'nowhere',
    '--data',
    world.folder,
    '--as',
    'media.player',
  );
  t.deepEqual([ended.status, ended.stdout, ended.stderr], [1, '', `signet: the server answered 404: ${message}\n`]);
  const { body } = await curl('media.player', '/access/domain/nowhere/principal/media.player');
  t.deepEqual(body, { code: 404, message });
});

test('a protected service is called in each way', async (t) => {
  const { providerUrl } = world.state;
  const token = { domain: 'catalog' };
  const ours = await client.fetch(`${providerUrl}/movie`, { token });
  const body = await ours.text();
  t.is(ours.status, 200);
  t.deepEqual(await signet('media.player', 'fetch', `${providerUrl}/movie`, '--domain', 'catalog'), {
    status: 200,
    body,
  });
  const { accessToken } = await client.tokens.get(token);
  const bearer = ['-H', `Authorization: Bearer ${accessToken}`];
  t.deepEqual(await world.curl('media.player', ...bearer, `${providerUrl}/movie`), { status: 200, body });
  t.is((await client.fetch(`${providerUrl}/movie`, { token, method: 'PUT', body: '{}' })).status, 403);
  const data = ['--data', world.folder];
  const { stdout } = await world.signet('token', 'principal', '--service', 'media.player', ...data);
  const header = ['-H', `Svc-Principal-Auth: ${stdout.trim()}`];
  t.is((await world.curl('media.player', ...header, `${providerUrl}/central-token/movie`)).status, 200);
});

test('the doctor finds nothing in a running world, and says what is wrong in others', async (t) => {
  const well = await signet('media.player', 'doctor');
  t.deepEqual(
    (well['findings'] as { check: string; state: string }[]).map(({ check, state }) => `${check} ${state}`),
    ['certificate', 'identity', 'chain', 'reachability', 'keys', 'server certificate', 'clock', 'policy'].map(
      (check) => `${check} ok`,
    ),
  );
  const { cert = '' } = world.state.identities['media.player'] ?? {};
  const { key = '' } = world.state.identities['media.guest'] ?? {};
  const { caBundle } = world.state;
  const at = ['--url', 'https://localhost:1/v1', '--ca', caBundle, '--policy-dir', folder];
  const ill = await world.signet('doctor', '--cert', cert, '--key', key, ...at);
  t.is(ill.status, 1);
  t.regex(ill.stdout, /FAILED {3}identity: the key does not match the certificate\n {9}what to do: use the two files/);
  t.regex(ill.stdout, /FAILED {3}policy: no status of an updater found in/);
  const own = world.state.identities['media.guest'] ?? { cert: '', key: '' };
  const alone = await world.signet('doctor', '--cert', own.cert, '--key', own.key, ...at);
  t.regex(
    alone.stdout,
    /FAILED {3}reachability: `localhost:1` cannot be reached \(ECONNREFUSED\): nothing listens on this port\n {9}what to do: check that/,
  );
});

test('the configuration of a client is found with --config and SIGNET_CONFIG', async (t) => {
  const config = join(world.folder, 'updater.yaml');
  const ask = ['roles', 'list', '--domain', 'catalog', '--principal', 'media.player', '--json'];
  const expected = { roles: ['reader'] };
  t.deepEqual(JSON.parse((await world.signet('--config', config, ...ask)).stdout), expected);
  const env = { ...process.env, SIGNET_CONFIG: config };
  t.deepEqual(JSON.parse((await runProgram(process.execPath, [signetScript, ...ask], { env })).stdout), expected);
  const dev = join(world.folder, 'signet.yaml');
  t.deepEqual(JSON.parse((await world.signet('--config', dev, ...ask, '--as', 'media.guest')).stdout), expected);

  // A server that is not that of `npm start`: there is no `dev.json` beside the configuration.
  const elsewhere = join(folder, 'client.yaml');
  const { cert, key } = world.state.identities['media.player'] ?? {};
  const { baseUrl, caBundle } = world.state;
  writeFileSync(elsewhere, JSON.stringify({ baseUrl, certificate: cert, key, caBundle }));
  const token = (await world.signet('--config', elsewhere, 'token', 'get', '--domain', 'catalog')).stdout.trim();
  t.regex((await world.signet('--config', elsewhere, 'token', 'inspect', token)).stdout, /^signature +holds/m);

  const given = 'use --as, or --cert and --key, or --config with a client configuration';
  const refused = async (file: string, ...command: string[]) => {
    const { status, stderr } = await world.signet('--config', file, ...command.filter((word) => word !== '--json'));
    return [status, stderr.trim()];
  };
  const none = join(folder, 'nowhere.yaml');
  t.deepEqual(await refused(none, ...ask), [2, `signet: \`${none}\` cannot be read (ENOENT): ${given}`]);
  const isOther = 'is not a client configuration: baseUrl, certificate, key and caBundle are required';
  t.deepEqual(await refused(dev, ...ask), [2, `signet: \`${dev}\` ${isOther}: ${given}`]);
  const broken = join(folder, 'broken.yaml');
  writeFileSync(broken, 'baseUrl: [');
  const [status, says] = await refused(broken, ...ask);
  t.is(status, 78);
  t.true(String(says).startsWith(`signet: configuration \`${broken}\` cannot be used: `), String(says));
  const isOfClient = 'it is the configuration of a client: name that of the server by `--config` or `SIGNET_CONFIG`';
  const address =
    'signet: --url must be an https address, such as https://signet.example:4443/v1, got `http://localhost:1/v1`';
  for (const command of [['doctor'], ask]) {
    t.deepEqual(await refused(config, ...command, '--url', 'http://localhost:1/v1'), [2, address]);
  }
  t.deepEqual(await refused(none, 'login', '--data', folder), [
    2,
    `signet: \`${join(folder, 'dev.json')}\` cannot be read: start \`npm start\`, or give --url and --ca`,
  ]);
  t.deepEqual(await refused(config, 'keys', 'list'), [
    78,
    `signet: configuration \`${config}\` cannot be used: ${isOfClient}`,
  ]);
});

test('bash completes commands and options', async (t) => {
  const script = join(folder, 'completion.bash');
  writeFileSync(script, (await world.signet('completion', 'bash')).stdout);
  const complete = async (...words: string[]) => {
    const typed = words.map((word) => `'${word}'`).join(' ');
    const run = `source ${script}; COMP_WORDS=(signet ${typed}); COMP_CWORD=${words.length}; _signet; echo "\${COMPREPLY[*]}"`;
    return (await runProgram('bash', ['-c', run])).stdout.trim();
  };
  t.is(await complete('doc'), 'doctor');
  t.is(await complete('token', ''), 'get run inspect principal --help');
  t.is(await complete('aws', 'credentials', '--du'), '--duration');
});
