import { type ChildProcess, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { connect } from 'node:tls';
import { systemClock } from '@signet/policy-engine/clock';
import test, { type ExecutionContext } from 'ava';
import { type DevWorld, repository, signetScript, startDevWorld } from '#support/dev-world';
import { runProgram } from '#support/run-program';
import { until } from '#support/until';

/* The whole system with certificates that live for a minute: everything is renewed while it runs, and a machine that slept wakes up. */

const lifeSeconds = '60';
const patienceMs = 120_000;

const leafIn = (file: string) => new X509Certificate(readFileSync(file));

/** The serial number of the certificate that a server shows. */
function shownBy(url: string, caBundle: string): Promise<string> {
  const { hostname: host, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port), ca: readFileSync(caBundle) }, () => {
      resolve(socket.getPeerCertificate().serialNumber);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

/** `openssl s_client` as a caller: whether the chain and the name of the server hold, and the server takes the certificate. */
async function probeTls(t: ExecutionContext, world: DevWorld, url: string, who: string): Promise<void> {
  const { host, hostname } = new URL(url);
  const { cert = '', key = '' } = world.state.identities[who] ?? {};
  const name = hostname === 'localhost' ? ['-verify_hostname', hostname] : ['-verify_ip', hostname];
  const files = ['-CAfile', world.state.caBundle, '-cert', cert, '-cert_chain', cert, '-key', key];
  const input = `GET /nothing HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  const args = ['s_client', '-connect', host, ...files, ...name, '-verify_return_error', '-x509_strict', '-ign_eof'];
  const { status, stdout, stderr } = await runProgram('openssl', args, { input });
  t.is(status, 0, stderr);
  t.regex(stdout, /Verify(?: return code|ification): (?:0 \(ok\)|OK)/);
  t.regex(stdout, /HTTP\/1\.1 404 /, 'not 401: the caller is known');
}

interface AgentProcess {
  readonly child: ChildProcess;
  readonly lines: { readonly outcome: string; readonly error?: string }[];
}

/** `signet identity run` for the spare machine of the example provider. */
function startAgent(t: ExecutionContext, world: DevWorld, dir: string): AgentProcess {
  const secret = join(world.folder, 'machines/media-player-2.secret');
  const who = ['--name', 'media.player', '--instance-id', 'media-player-2', '--provider', 'catalog.api'];
  const args = ['identity', 'run', '--data', world.folder, ...who, '--attestation', secret, '--dir', dir, '--json'];
  const child = spawn(process.execPath, [signetScript, ...args], {
    cwd: repository,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => void child.kill('SIGKILL'));
  const lines: AgentProcess['lines'] = [];
  createInterface({ input: child.stdout }).on('line', (line) => void lines.push(JSON.parse(line)));
  return { child, lines };
}

test('certificates of a minute are renewed in a running system, and a machine that slept past the end of its own comes back', async (t) => {
  t.timeout(300_000);
  const env = {
    ...process.env,
    SIGNET_CERTIFICATES_SERVICE_EXPIRY_SECONDS: lifeSeconds,
    SIGNET_CERTIFICATES_SERVICE_MAX_EXPIRY_SECONDS: lifeSeconds,
  };
  const world = await startDevWorld({ env });
  t.teardown(() => world.remove());
  const { state } = world;
  const certOf = (who: string) => state.identities[who]?.cert ?? '';
  const dir = join(world.folder, '../slept');
  const agent = startAgent(t, world, dir);
  await until('it has registered', () => agent.lines.length > 0);
  agent.child.kill('SIGSTOP');
  const slept = leafIn(join(dir, 'cert.pem'));

  for (const url of [state.baseUrl, state.providerUrl]) await probeTls(t, world, url, 'media.player');
  const before = ['catalog.api', 'catalog.updater', 'media.player'].map((who) => leafIn(certOf(who)).serialNumber);
  await until(
    'all of them are renewed',
    () =>
      ['catalog.api', 'catalog.updater', 'media.player'].every(
        (who, at) => leafIn(certOf(who)).serialNumber !== before[at],
      ),
    patienceMs,
  );
  await until(
    'the provider shows the new one',
    async () => (await shownBy(state.providerUrl, state.caBundle)) !== before[0],
    patienceMs,
  );
  for (const url of [state.baseUrl, state.providerUrl]) await probeTls(t, world, url, 'media.player');
  const form = 'grant_type=client_credentials&scope=catalog:domain';
  const answer = await world.curl('media.player', `${state.baseUrl}/oauth2/token`, '--data', form);
  const bearer = `Authorization: Bearer ${JSON.parse(answer.body).access_token}`;
  t.is((await world.curl('media.player', '-H', bearer, `${state.providerUrl}/movie`)).status, 200);

  await until('the one that sleeps has ended', () => slept.validToDate.getTime() < systemClock.now(), patienceMs);
  t.deepEqual(
    agent.lines.map(({ outcome }) => outcome),
    ['registered'],
  );
  agent.child.kill('SIGCONT');
  await until('it has registered again', () => agent.lines.length > 1);
  t.deepEqual(
    agent.lines.map(({ outcome }) => outcome),
    ['registered', 'registered'],
  );
  const log = join(world.folder, 'logs/example-provider.log');
  const asked = () => readFileSync(log, 'utf8').match(/"instanceId":"media-player-2"/g)?.length ?? 0;
  await until('the log has both', () => asked() > 1);
  const times = asked();
  t.true(times === 2 || times === 3, `once when it started, once when it woke up, and no storm: ${times}`);
  t.true(leafIn(join(dir, 'cert.pem')).validToDate.getTime() > systemClock.now());
});
