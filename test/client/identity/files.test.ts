import { spawn } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { identityPaths, readIdentityFiles } from '@signet/client';
import test from 'ava';
import { createPki } from '#support/pki';
import { temporaryFolder } from '#support/temp';
import { until } from '#support/until';

const files = fileURLToPath(import.meta.resolve('@signet/client').replace(/index\.ts$/, 'identity/identity-files.ts'));

/** Writes one identity after the other into `folder`, as fast as it can. */
const writer = `
  const { writeIdentityFiles } = await import(process.argv[1]);
  const { readFileSync } = await import('node:fs');
  const identities = JSON.parse(readFileSync(process.argv[3], 'utf8'));
  for (let turn = Number(process.argv[4]); ; turn += 1) {
    await writeIdentityFiles(process.argv[2], identities[turn % identities.length], String(turn));
  }
`;

test('a writer that is killed at any instant leaves a certificate with its own key', async (t) => {
  const pki = await createPki();
  const folder = join(temporaryFolder(t), 'identity');
  const identities = await Promise.all(
    ['media.player', 'media.studio', 'media.guest'].map(async (name) => ({
      ...(await pki.identity(name)),
      issuers: pki.bundle,
    })),
  );
  const list = `${folder}.json`;
  writeFileSync(list, JSON.stringify(identities));
  for (let kill = 0; kill < 6; kill += 1) {
    const args = [
      '--conditions=@signet/source',
      '--input-type=module',
      '-e',
      writer,
      files,
      folder,
      list,
      String(kill * 1_000_000),
    ];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
    const ended = new Promise((resolve) => child.once('close', resolve));
    const written = () => readdirSync(folder).some((name) => name.startsWith(`.identity-${kill || ''}`));
    await until('it writes', async () => (await readIdentityFiles(folder)) !== undefined && written());
    // Any instant will do; most are in the middle of a write.
    await pause(Math.random() * 20);
    child.kill('SIGKILL');
    await ended;
    const texts = await readIdentityFiles(folder);
    const leaf = new X509Certificate(texts?.certificate ?? '');
    t.true(leaf.checkPrivateKey(createPrivateKey(texts?.key ?? '')));
    const paths = identityPaths(folder);
    t.is(readFileSync(paths.certificate, 'utf8'), texts?.certificate ?? '');
    t.is(readFileSync(paths.key, 'utf8'), texts?.key ?? '');
    t.deepEqual([statSync(paths.key).mode & 0o777, statSync(paths.certificate).mode & 0o777], [0o600, 0o644]);
  }
  const versions = readdirSync(folder).filter((name) => name.startsWith('.identity-'));
  t.true(versions.length < 10, `what was left behind is removed: ${versions.join(' ')}`);
});
