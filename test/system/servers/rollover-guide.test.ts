import { type ChildProcess, spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:https';
import { join } from 'node:path';
import { systemClock } from '@signet/policy-engine/clock';
import { parseDomainName, parseServiceName } from '@signet/policy-engine/names';
import { loadConfig } from '@signet/server/config/config';
import { openStore } from '@signet/server/store/open';
import { issueIdentity } from '@signet/server/x509/certificate-authority';
import { loadAuthority } from '@signet/server/x509/load-authority';
import test from 'ava';
import { repository, signetScript } from '#support/dev-world';
import { domainContent } from '#support/domain-sketch';
import { blocksOf, runBlock } from '#support/guide';
import { openssl } from '#support/openssl';
import { runProgram } from '#support/run-program';
import { saveDomain } from '#support/save-domain';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

const name = { domain: parseDomainName('media'), service: parseServiceName('player'), trustDomain: 'signet.local' };

interface Polls {
  /** Requests that were answered 200 so far. */
  answered: number;
  /** Other problems than a closed port. */
  readonly refused: string[];
}

test('the guide replaces the issuing authority and the root while a client asks all the time and is never refused', async (t) => {
  t.timeout(600_000);
  const folder = join(temporaryFolder(t), 'server');
  const at = (...parts: string[]) => join(folder, ...parts);
  const read = (...parts: string[]) => readFileSync(at(...parts), 'utf8');
  const crlUrl = 'http://pki.example/crl/{issuer}';
  const init = ['init', folder, '--port', '0', '--identity', 'media.player', '--name-constraints', '--crl-url', crlUrl];
  const made = await runProgram(process.execPath, [signetScript, ...init]);
  t.is(made.status, 0, made.stderr);
  const config = at('signet.yaml');
  const store = await openStore(loadConfig(config).store);
  const media = domainContent({ name: 'media', services: { player: {} } });
  await store.change({ actor: 'test' }, (change) => saveDomain(change, media));
  await store.close();

  let server: { readonly child: ChildProcess; readonly baseUrl: string } | undefined;
  const start = async () => {
    const child = spawn(process.execPath, [signetScript, 'serve', '--config', config, '--json'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    t.teardown(() => void child.kill('SIGKILL'));
    const [line] = await once(child.stdout, 'data');
    server = { child, baseUrl: JSON.parse(String(line)).baseUrl };
  };
  const stop = async () => {
    const { child } = server ?? {};
    server = undefined;
    if (child === undefined) return;
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    t.is((await closed)[0], 0);
  };

  const ask = (path: string): Promise<{ readonly status: number; readonly text: string }> => {
    const { baseUrl } = server ?? { baseUrl: 'https://localhost:1' };
    const agent = new Agent({
      ca: read('ca/bundle.pem'),
      cert: read('identities/media.player.cert.pem'),
      key: read('identities/media.player.key.pem'),
    });
    return new Promise((resolve, reject) => {
      get(`${baseUrl}${path}`, { agent }, (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (part: string) => {
          text += part;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text })).on('error', reject);
      }).on('error', reject);
    }).finally(() => agent.destroy()) as Promise<{ readonly status: number; readonly text: string }>;
  };
  const polls: Polls = { answered: 0, refused: [] };
  let isOver = false;
  let step = 'at first';
  t.teardown(() => {
    isOver = true;
  });
  const poll = async () => {
    while (!isOver) {
      const asked = server;
      try {
        const { status, text } = await ask('/access/domain/media/principal/media.player');
        if (status === 200) polls.answered += 1;
        else polls.refused.push(`${step}: ${status} ${text}`);
      } catch (error) {
        // A server that restarts has no port; whoever is refused in a handshake is told by TLS.
        if (asked === server && asked !== undefined) polls.refused.push(`${step}: ${String(error)}`);
        await new Promise(setImmediate);
      }
    }
  };
  const answered = async (count = 5) => {
    const wanted = polls.answered + count;
    await until('the client is answered', () => polls.answered >= wanted || polls.refused.length > 0);
    t.deepEqual(polls.refused, []);
  };

  /** Validity of the certificate in TLS for clients that check whole chains with the former lists and the present ones. */
  let lists = '';
  const checkChains = async (step: string) => {
    const present = (await ask('/crl/chain')).text;
    for (const [when, text] of [
      ['before', lists || present],
      ['now', present],
    ] as const) {
      writeFileSync(at('lists.pem'), text);
      for (const leaf of ['server.cert.pem', 'identities/media.player.cert.pem']) {
        const chain = ['-CAfile', 'ca/bundle.pem', '-untrusted', leaf];
        const checked = await openssl(folder, 'verify', '-crl_check_all', '-CRLfile', 'lists.pem', ...chain, leaf);
        t.is(checked.output, `${leaf}: OK\n`, `${when}: ${step}`);
      }
    }
    lists = present;
  };

  await start();
  const polling = poll();
  await answered();
  await checkChains('at first');
  for (const { text, kind } of blocksOf(readFileSync(join(repository, 'docs/guides/rollover.md'), 'utf8'))) {
    step = text;
    const before = read('signet.yaml');
    const { status, stdout, stderr } = await runBlock(folder, folder, text);
    t.is(status, kind === 'refused' ? 1 : 0, `${text}\n${stdout}${stderr}`);
    if (read('signet.yaml') === before) continue;
    await stop();
    await start();
    await answered();
    if (!text.includes('ca rollover') || text.includes('--prepare')) {
      await checkChains(text);
      continue;
    }
    // As the agent of the host renews it with the authority that signs now.
    const [signing = { file: '' }] = JSON.parse((await runBlock(folder, folder, 'signet ca list --json')).stdout);
    const authority = await loadAuthority(signing.file, signing.file.replace('.cert.', '.key.'));
    const renewed = await issueIdentity(authority, { ...name, distributionPoints: [crlUrl] }, 30, systemClock);
    const { serialNumber } = new X509Certificate(read('identities/media.player.cert.pem'));
    writeFileSync(at('identities/media.player.key.pem'), renewed.key);
    writeFileSync(at('identities/media.player.cert.pem'), renewed.certificate);
    await answered();
    // What `signet init` has made is in the store, and what this test has renewed is not.
    await runBlock(folder, folder, `signet certificate revoke ${serialNumber} --reason superseded`);
    await checkChains(text);
  }
  isOver = true;
  await polling;
  t.deepEqual(polls.refused, []);
  t.true(polls.answered > 50);
  await stop();
  const roots = read('ca/bundle.pem').match(/BEGIN CERTIFICATE/g);
  t.is(roots?.length, 1);
  t.deepEqual(
    loadConfig(config).certificates.issuers.map(({ certificate, state }) => [certificate, state]),
    [[at('ca/third/intermediate.cert.pem'), 'active']],
  );
});
