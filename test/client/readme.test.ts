import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { domainContent } from '#support/domain-sketch';
import { runProgram } from '#support/run-program';
import { saveDomain } from '#support/save-domain';
import { startServer } from '#support/start-server';
import { startSts, stsAccess } from '#support/sts';
import { temporaryFolder } from '#support/temp';
import { answer, startTlsServer } from './support/tls-server.ts';

process.env['AWS_ACCESS_KEY_ID'] = stsAccess.accessKeyId;
process.env['AWS_SECRET_ACCESS_KEY'] = stsAccess.secretAccessKey;
process.env['AWS_EC2_METADATA_DISABLED'] = 'true';

const repository = fileURLToPath(new URL('../..', import.meta.url));

test('the examples of the README are one program that runs', async (t) => {
  const sts = await startSts(t);
  const server = await startServer(t, {
    domains: [{ name: 'media', services: { player: {}, studio: {} } }],
    options: { 'cloud.aws.region': 'eu-central-1', 'cloud.aws.endpoint': sts.endpoint },
  });
  const catalog = domainContent({
    name: 'catalog',
    roles: { reader: ['media.player', 'media.studio'] },
    services: { api: {} },
    policies: {
      readers: [
        ['ALLOW', 'reader', 'read', 'movie'],
        ['ALLOW', 'reader', 'assume_aws_role', 'nightly'],
      ],
    },
  });
  await server.store.change({ actor: 'test' }, (transaction) =>
    saveDomain(transaction, { ...catalog, accounts: { aws: '123456789012' } }),
  );
  await server.running.refresh();
  const api = await server.pki.server();
  const provider = await startTlsServer(t, {
    identity: { certFile: '', keyFile: '', thumbprint: '', cert: api.certificate, key: api.key },
    ca: server.pki.bundle,
    respond: (request, response) =>
      answer(response, request.headers.authorization?.startsWith('Bearer ey') ? 200 : 403, {}),
  });

  const folder = temporaryFolder(t);
  const player = await server.pki.identity('media.player');
  const files = {
    '.signet/identities/media.player.cert.pem': player.certificate,
    '.signet/identities/media.player.key.pem': player.key,
    '.signet/ca/bundle.pem': server.pki.bundle,
  };
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  symlinkSync(join(repository, 'node_modules'), join(folder, 'node_modules'));
  const readme = readFileSync(join(repository, 'client/README.md'), 'utf8');
  const program = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code).join('\n');
  writeFileSync(
    join(folder, 'readme.mjs'),
    program
      .replaceAll('https://localhost:4443', new URL(server.baseUrl).origin.replace('127.0.0.1', 'localhost'))
      .replaceAll(':4444', `:${provider.port}`),
  );
  const { status, stdout, stderr } = await runProgram(
    process.execPath,
    ['--conditions=@signet/source', '--preserve-symlinks-main', 'readme.mjs'],
    { cwd: folder },
  );
  t.is(stderr, '');
  t.is(status, 0);
  const lines = stdout.split('\n');
  t.is(lines[0], '200');
  for (const expected of ['ASIAEXAMPLE0000000000', 'function', 'media.player']) {
    t.true(
      lines.some((line) => line.includes(expected)),
      expected,
    );
  }
});
